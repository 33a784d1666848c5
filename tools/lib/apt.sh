# shellcheck shell=bash
# Distribution packages: which are missing, how they are installed, which versions there are.
# To be sourced after common.sh.

# satisfied PACKAGE TEST
satisfied() {
  case $2 in
    cmd:*) command -v "${2#cmd:}" >/dev/null ;;
    py:*) python3 -c "import ${2#py:}" 2>/dev/null ;;
    dpkg) grep -qxF "$1" <<<"$installed_packages" ;;
    *) die "tools/apt-packages: unknown test '$2' of $1" ;;
  esac
}

# install_packages GROUP...: installs what is missing, or says how and goes on.
# Sets missing_packages to what is still missing afterwards.
install_packages() {
  missing_packages=()
  if ! command -v dpkg-query >/dev/null; then
    say "This is not a Debian system: distribution packages are not looked at."
    say "docs/guide/other-distributions.md lists what the build needs."
    return
  fi
  local group package test why
  local -a reasons=()
  # shellcheck disable=SC2016
  installed_packages=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
  while read -r group package test why; do
    [[ $group == '#'* || -z $group || " $* " != *" $group "* ]] && continue
    [[ " ${missing_packages[*]} " == *" $package "* ]] && continue
    satisfied "$package" "$test" && continue
    missing_packages+=("$package")
    reasons+=("$(printf '  %-22s %s' "$package" "$why")")
  done <"$assay_root/tools/apt-packages"
  if ((${#missing_packages[@]})); then
    say "Distribution packages that are missing:"
    say "$(printf '%s\n' "${reasons[@]}")"
    apt_install "${missing_packages[@]}" && missing_packages=()
  fi
  if ((${#missing_packages[@]} == 0)) || [[ ! -f $assay_state/apt-versions ]]; then
    record_apt_versions
  fi
}

# apt_install PACKAGE...: 0 when they are installed, 1 when that takes root.
apt_install() {
  if ((EUID != 0)); then
    say "Installing them takes root. Run this, then repeat:"
    say ""
    say "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $*"
    say ""
    say "Going on without them."
    return 1
  fi
  local log=$assay_state/apt.log
  # apt-get works as a user of its own, who cannot look into our folder for temporary files.
  local -a quietly=(env -u TMPDIR DEBIAN_FRONTEND=noninteractive apt-get -q -y
    -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
  say "Installing them with apt-get (log: $log) ..."
  local start
  start=$(now_ms)
  if ! "${quietly[@]}" update >"$log" 2>&1 ||
    ! "${quietly[@]}" install --no-install-recommends "$@" >>"$log" 2>&1; then
    tail -n 15 "$log" >&2
    die "apt-get failed; the log is $log. Check the network and the package sources, then repeat."
  fi
  say "Installed in $(seconds_since "$start")."
}

# The versions that this machine has of every package that the build may use.
record_apt_versions() {
  local versions=$assay_state/apt-versions
  # shellcheck disable=SC2016
  awk '!/^#/ && NF { print $2 }' "$assay_root/tools/apt-packages" |
    xargs dpkg-query -W -f '${Package} ${Version}\n' 2>/dev/null |
    awk 'NF == 2' | sort -u >"$versions.new" || true
  if ! cmp -s "$versions.new" "$versions"; then mv "$versions.new" "$versions"; fi
  rm -f "$versions.new"
}
