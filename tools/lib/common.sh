# shellcheck shell=bash
# Shared by the scripts of this repository: where things are, and how they speak. To be sourced.

# shellcheck disable=SC2034  # each script uses some of them
{
  assay_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  assay_cache=${ASSAY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/assay}
  assay_deps=$assay_cache/deps
  assay_downloads=$assay_cache/downloads
  assay_state=$assay_cache/setup
}
export CCACHE_DIR=${CCACHE_DIR:-$assay_cache/ccache}

# Messages go to the standard error that the script began with, also from inside a step whose output
# goes to a log. Standard output belongs to the program that a script runs.
exec {assay_message_fd}>&2
say() { printf '%s\n' "$*" >&"$assay_message_fd"; }

die() {
  say "error: $*"
  exit 1
}

# now_ms: milliseconds of some clock, for durations.
now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# seconds_since START_MS -> "12.3 s"
seconds_since() {
  local ms=$(($(now_ms) - $1))
  printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}
