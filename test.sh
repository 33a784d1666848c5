#!/usr/bin/env bash
# Sets up, builds and runs every test. Arguments go to ctest: ./test.sh -L e2e, ./test.sh -R Percentile.
# Without arguments all run but those of the label "long", of many minutes: ./test.sh -L long.
# The last line says "N passed, N failed, N skipped".
set -euo pipefail
# shellcheck source=tools/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/tools/lib/common.sh"

# Tasks of the label "long", whose tests fetch them themselves.
readonly kLongTasks=" bert-onnx-fp32 bert-torch-fp32 resnet50-tf-fp32 resnet50-torch-fp32 "

# Tests that evaluate a task want its data; a task whose data cannot be had fails its own tests.
fetch_task_data() {
  local assay=$assay_root/build/release/bin/assay task
  "$assay" fetch --help >/dev/null 2>&1 || return 0
  for task in "$assay_root"/workloads/*.json; do
    task=$(basename "$task" .json)
    [[ $kLongTasks == *" $task "* ]] && continue
    "$assay" fetch "$task" >&2 || say "warning: the data of $task is missing; its tests will fail."
  done
}

main() {
  local -a chosen=("$@")
  ((${#chosen[@]})) || chosen=(--label-exclude '^long$')
  "$assay_root/tools/setup" --test --bench
  "$assay_root/tools/build" --with-tests release
  fetch_task_data
  local results=$assay_root/build/release/tests.xml status=0
  rm -f "$results"
  ctest --test-dir "$assay_root/build/release" --no-tests=error --output-on-failure --timeout 900 \
    -j "$(nproc)" --output-junit "$results" "${chosen[@]}" || status=$?
  python3 "$assay_root/tools/summarize_tests" "$results" || status=1
  return "$status"
}

main "$@"
