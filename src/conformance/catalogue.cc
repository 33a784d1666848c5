// The checks: what each is called and which sentence of the contract it checks. A new check is a
// function and a row here.

#include <array>

#include "conformance/checks.h"
#include "conformance/suite.h"

namespace assay::conformance {
namespace {

constexpr std::int64_t number(DType dtype) { return static_cast<std::int64_t>(dtype); }

constexpr std::string_view kDtype =
    "a model of this dtype compiles, loads, and gives every value back bit for bit";
constexpr std::string_view kRank =
    "tensors of this rank go in and come out: as they are, reshaped, joined";

constexpr std::array kChecks = std::to_array<Check>({
    {"manifest",
     "manifest.json is valid, is about the folder's hardware type, and names a library that is "
     "there and this boundary's major",
     Needs::kNothing, check_manifest},
    {"open", "the library opens; its entry acquires nothing and starts no thread", Needs::kManifest,
     check_open},
    {"versions",
     "the entry accepts every host that its own versions accept and refuses the others with "
     "FAILED_PRECONDITION and a message",
     Needs::kLibrary, check_versions},
    {"identity",
     "hardware_type is the folder's name; version is text, not empty, and always the same",
     Needs::kLibrary, check_identity},
    {"profile", "the interact profile, as a file or as returned, can be asked", Needs::kLibrary,
     check_profile},
    {"probe", "probe says whether the backend is available, and why not, and acquires nothing",
     Needs::kLibrary, check_probe},
    {"compile",
     "compile makes a compile result that is valid, and is never silent for more than ten seconds",
     Needs::kLibrary, check_compile},
    {"compile.cancel", "a compile whose heartbeat is answered by 1 ends with CANCELLED",
     Needs::kModel, check_compile_cancel},
    {"compile.folder", "compile writes into its artifact folder and nowhere else", Needs::kModel,
     check_compile_folder},
    {"compile.twice", "one compiler compiles again, and both artifacts load and answer alike",
     Needs::kModel, check_compile_twice},
    {"compile.corrupt", "a model file that is empty, cut or noise is refused with a message",
     Needs::kModel, check_corrupt_model},
    {"artifact.moved", "an artifact folder that was moved after compile loads", Needs::kModel,
     check_moved_artifact},
    {"artifact.broken",
     "load refuses an artifact that is gone or cut, with a message, and then takes a whole one",
     Needs::kModel, check_broken_artifact},
    {"paths", "paths of models and artifacts may hold spaces, quotes and any letters",
     Needs::kModel, check_paths},
    {"answers", "load and infer give the right answers", Needs::kModel, check_answers},
    {"segments",
     "a model in several segments gives the right answers when they run one behind the other, and "
     "sg_percent says how much of it falls back",
     Needs::kModel, check_segments},
    {"dtype.FLOAT64", kDtype, Needs::kModel, check_dtype, number(DType::kFloat64)},
    {"dtype.FLOAT32", kDtype, Needs::kModel, check_dtype, number(DType::kFloat32)},
    {"dtype.FLOAT16", kDtype, Needs::kModel, check_dtype, number(DType::kFloat16)},
    {"dtype.BFLOAT16", kDtype, Needs::kModel, check_dtype, number(DType::kBFloat16)},
    {"dtype.FLOAT8E4M3", kDtype, Needs::kModel, check_dtype, number(DType::kFloat8E4M3)},
    {"dtype.INT64", kDtype, Needs::kModel, check_dtype, number(DType::kInt64)},
    {"dtype.INT32", kDtype, Needs::kModel, check_dtype, number(DType::kInt32)},
    {"dtype.INT16", kDtype, Needs::kModel, check_dtype, number(DType::kInt16)},
    {"dtype.INT8", kDtype, Needs::kModel, check_dtype, number(DType::kInt8)},
    {"dtype.UINT8", kDtype, Needs::kModel, check_dtype, number(DType::kUInt8)},
    {"dtype.BOOL", kDtype, Needs::kModel, check_dtype, number(DType::kBool)},
    {"dtype.UINT16", kDtype, Needs::kModel, check_dtype, number(DType::kUInt16)},
    {"dtype.UINT32", kDtype, Needs::kModel, check_dtype, number(DType::kUInt32)},
    {"dtype.UINT64", kDtype, Needs::kModel, check_dtype, number(DType::kUInt64)},
    {"rank.0", kRank, Needs::kModel, check_rank, 0},
    {"rank.1", kRank, Needs::kModel, check_rank, 1},
    {"rank.2", kRank, Needs::kModel, check_rank, 2},
    {"rank.3", kRank, Needs::kModel, check_rank, 3},
    {"rank.4", kRank, Needs::kModel, check_rank, 4},
    {"rank.5", kRank, Needs::kModel, check_rank, 5},
    {"rank.6", kRank, Needs::kModel, check_rank, 6},
    {"rank.7", kRank, Needs::kModel, check_rank, 7},
    {"rank.8", kRank, Needs::kModel, check_rank, 8},
    {"batch.dynamic", "one artifact loads at several batch sizes, and each row gets its answer",
     Needs::kModel, check_batch},
    {"batch.maximum", "load refuses a batch above the compile result's max_batch_size",
     Needs::kModel, check_batch_above_maximum},
    {"empty", "tensors without elements go in and come out", Needs::kModel, check_empty},
    {"big", "tensors of 128 MiB each go in and come out bit for bit", Needs::kModel, check_big},
    {"inputs.refused",
     "inputs of another name, dtype, rank, shape, size or number are refused, and the next right "
     "call is answered",
     Needs::kModel, check_wrong_inputs},
    {"inputs.kept", "inputs are never written to", Needs::kModel, check_inputs_kept},
    {"outputs.written", "every byte of every output is written in every call", Needs::kModel,
     check_outputs_written},
    {"repeat", "the same inputs get the same answers bit for bit, however often", Needs::kModel,
     check_repeat},
    {"parallel.handles", "two handles in one process run at once, and closing one leaves the other",
     Needs::kModel, check_handles},
    {"parallel.processes", "two processes run at once", Needs::kModel, check_processes},
    {"threads", "infer may be called by several threads, as the thread rule says", Needs::kModel,
     check_threads},
    {"load.again", "load may follow load on one handle", Needs::kModel, check_load_again},
    {"load.memory", "create, load, infer, close, destroy 1,000 times does not grow", Needs::kModel,
     check_memory},
    {"deadline", "a process that is killed in a call leaves nothing behind, and the next one works",
     Needs::kModel, check_deadline},
    {"close", "after close and destroy no descriptor, thread, process or shared memory is left",
     Needs::kModel, check_close},
    {"async.complete",
     "each submitted call completes exactly once, with its outputs visible and its inputs "
     "untouched",
     Needs::kModel, check_submit},
    {"async.full",
     "submit refuses with RESOURCE_EXHAUSTED when max_in_flight calls are on their way",
     Needs::kModel, check_full_queue},
    {"async.nested", "submit may be called from inside a completion", Needs::kModel,
     check_submit_inside},
    {"async.cancel", "a cancelled call completes once; cancel of an unknown one is NOT_FOUND",
     Needs::kModel, check_cancel},
    {"async.close", "every submitted call has completed when close returns", Needs::kModel,
     check_close_with_calls},
});

}  // namespace

std::span<const Check> all_checks() { return kChecks; }

}  // namespace assay::conformance
