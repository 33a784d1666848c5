#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "controller/installation.h"
#include "controller/phase.h"
#include "controller/session.h"
#include "dataset/dataset.h"
#include "model/model.h"
#include "workload/model_info.h"
#include "workload/plan.h"

namespace assay::controller {

// The hardware type of the backend that references run on.
inline constexpr const char* kReferenceBackend = "CPU";

// The outputs that everything is held against: the fp32 model (or, when the model info names none,
// the same file) on the CPU backend with its default options. Computed once per content and kept in
// the user's cache.
struct ReferenceRequest {
  const workload::Plan* plan = nullptr;  // its workload and request
  workload::ModelInfo info;              // of the reference model
  std::string model_hash;                // content hash of the reference model
  host::Manifest manifest;               // of the CPU backend
  std::string backend_version;           // as its runtime says
  std::string library_hash;              // libraries_in_folder of the backend
  std::string runtime_libraries;         // as ProbeFacts has them
  bool is_named_reference = false;       // a model of its own, not the one under test
  const dataset::Dataset* dataset = nullptr;
  std::uint64_t samples = 0;
  std::int64_t batch_size = 1;
  std::filesystem::path cache;        // <cache>/reference
  std::filesystem::path work_folder;  // for the artifact, removed afterwards
};

struct Reference {
  std::filesystem::path store;
  // As the CPU backend declares them; "" unknown. The precision is from a profile.
  std::string executed_precision;
  std::string runtime;
};

// kFailedPrecondition when a reference that has to be fp32 executed in less: one that is named as a
// reference, or a model that is declared FP32 and is its own. `executed` as declared_execution
// says; what is not known is not refused.
Status check_reference_precision(const workload::ModelInfo& info, bool is_named_reference,
                                 const std::string& executed);

// Equal for requests whose references are equal.
std::string reference_key(const ReferenceRequest& request);

// Answers to the CPU backend's questions: all left at their defaults, which pins the reference, but
// for `options`, "name=value".
Result<JsonValue> reference_answers(const host::Manifest& manifest,
                                    const std::vector<std::string>& options);

// Compiles the reference in a worker that has the CPU backend open, into the request's work folder,
// which the caller removes. `options` as for reference_answers. `reference` gets what the backend
// declares. Errors of the backend, and of check_reference_precision.
Result<CompiledModel> compile_reference(Session& session, const ReferenceRequest& request,
                                        const std::vector<std::string>& options,
                                        RunObserver& observer, Reference& reference);

PhaseResult<Reference> make_reference(const SessionSettings& settings,
                                      const ReferenceRequest& request, RunObserver& observer);

}  // namespace assay::controller
