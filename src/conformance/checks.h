#pragma once

// Internal to the room: the checks, by subject. The table of catalogue.cc gives each its name and
// the sentence of the contract that it checks.

#include <cstdint>

#include "conformance/bench.h"
#include "conformance/check.h"

namespace assay::conformance {

// Of a check that makes a model of its own.
inline constexpr const char* kNoOnnx =
    "the manifest's model_formats has no \"onnx\", and this check needs a model of its own";

// checks_entry.cc: what is known before anything is compiled.
CheckResult check_manifest(Bench& bench, std::int64_t);
CheckResult check_open(Bench& bench, std::int64_t);
CheckResult check_versions(Bench& bench, std::int64_t);
CheckResult check_identity(Bench& bench, std::int64_t);
CheckResult check_profile(Bench& bench, std::int64_t);
CheckResult check_probe(Bench& bench, std::int64_t);

// checks_compile.cc: the compiler and its artifact.
CheckResult check_compile(Bench& bench, std::int64_t);
CheckResult check_compile_cancel(Bench& bench, std::int64_t);
CheckResult check_compile_folder(Bench& bench, std::int64_t);
CheckResult check_compile_twice(Bench& bench, std::int64_t);
CheckResult check_corrupt_model(Bench& bench, std::int64_t);
CheckResult check_moved_artifact(Bench& bench, std::int64_t);
CheckResult check_broken_artifact(Bench& bench, std::int64_t);
CheckResult check_paths(Bench& bench, std::int64_t);

// checks_calls.cc: calls and their tensors.
CheckResult check_answers(Bench& bench, std::int64_t);
CheckResult check_dtype(Bench& bench, std::int64_t dtype);
CheckResult check_rank(Bench& bench, std::int64_t rank);
CheckResult check_batch(Bench& bench, std::int64_t);
CheckResult check_batch_above_maximum(Bench& bench, std::int64_t);
CheckResult check_empty(Bench& bench, std::int64_t);
CheckResult check_big(Bench& bench, std::int64_t);
CheckResult check_wrong_inputs(Bench& bench, std::int64_t);
CheckResult check_inputs_kept(Bench& bench, std::int64_t);
CheckResult check_outputs_written(Bench& bench, std::int64_t);
CheckResult check_repeat(Bench& bench, std::int64_t);

// checks_segments.cc
CheckResult check_segments(Bench& bench, std::int64_t);

// checks_process.cc: several handles, threads and processes; what stays behind.
CheckResult check_handles(Bench& bench, std::int64_t);
CheckResult check_processes(Bench& bench, std::int64_t);
CheckResult check_threads(Bench& bench, std::int64_t);
CheckResult check_load_again(Bench& bench, std::int64_t);
CheckResult check_memory(Bench& bench, std::int64_t);
CheckResult check_deadline(Bench& bench, std::int64_t);
CheckResult check_close(Bench& bench, std::int64_t);

// checks_async.cc: submitted calls.
CheckResult check_submit(Bench& bench, std::int64_t);
CheckResult check_full_queue(Bench& bench, std::int64_t);
CheckResult check_submit_inside(Bench& bench, std::int64_t);
CheckResult check_cancel(Bench& bench, std::int64_t);
CheckResult check_close_with_calls(Bench& bench, std::int64_t);

}  // namespace assay::conformance
