#!/usr/bin/env bash
# Sets up, builds and runs every test. Arguments go to ctest: ./test.sh -L e2e, ./test.sh -R Percentile.
# The last line says "N passed, N failed, N skipped".
set -euo pipefail
# shellcheck source=tools/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/tools/lib/common.sh"

# Tests that evaluate a task want its data; a task whose data cannot be had fails its own tests.
fetch_task_data() {
  local assay=$assay_root/build/release/bin/assay task
  "$assay" fetch --help >/dev/null 2>&1 || return 0
  for task in "$assay_root"/workloads/*.json; do
    task=$(basename "$task" .json)
    "$assay" fetch "$task" >&2 || say "warning: the data of $task is missing; its tests will fail."
  done
}

main() {
  "$assay_root/tools/setup" --test --bench
  "$assay_root/tools/build" --with-tests release
  fetch_task_data
  local results=$assay_root/build/release/tests.xml status=0
  rm -f "$results"
  ctest --test-dir "$assay_root/build/release" --no-tests=error --output-on-failure --timeout 900 \
    -j "$(nproc)" --output-junit "$results" "$@" || status=$?
  python3 "$assay_root/tools/summarize_tests" "$results" || status=1
  return "$status"
}

main "$@"
