#include "controller/reference.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "check/output_store.h"
#include "controller/inference_pass.h"
#include "controller/journal.h"
#include "controller/steps.h"
#include "workload/interact_profile.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

// Bumped when what is kept in a reference, or how it is made, changes.
constexpr const char* kReferenceVersion = "4";

check::StoreIdentity identity_of(const ReferenceRequest& request) {
  check::StoreIdentity identity;
  identity.model_hash = request.model_hash;
  identity.dataset_hash = request.dataset->fingerprint();
  identity.executed_precision = "reference";
  identity.backend = "CPU " + request.backend_version;
  return identity;
}

bool usable(const fs::path& store, const ReferenceRequest& request) {
  const Result<check::OutputReader> reader = check::OutputReader::open(store);
  return reader.ok() && check::check_identity(reader->identity(), identity_of(request)).ok() &&
         reader->complete_samples() == request.samples;
}

}  // namespace

std::string reference_key(const ReferenceRequest& request) {
  return key_of({kReferenceVersion, request.model_hash, request.dataset->fingerprint(),
                 std::to_string(request.samples), std::to_string(request.batch_size),
                 request.backend_version, request.library_hash, request.runtime_libraries});
}

Result<JsonValue> reference_answers(const host::Manifest& manifest,
                                    const std::vector<std::string>& options) {
  ASSIGN_OR_RETURN(const workload::InteractProfile profile,
                   workload::load_interact_profile(manifest.profile_path()));
  ASSIGN_OR_RETURN(const workload::Answers answers,
                   workload::resolve_answers(profile, {.set_options = options}));
  return JsonValue(workload::interact_info(answers));
}

Status check_reference_precision(const workload::ModelInfo& info, bool is_named_reference,
                                 const std::string& executed) {
  // A reduced model without an fp32 one is its own reference, and the report says so.
  const bool has_to_be_fp32 =
      is_named_reference || (info.model_precision == "FP32" && !info.is_quantized);
  if (!has_to_be_fp32) return ok_status();
  for (const char* reduced : {"FP16", "BF16", "FP8", "INT8"}) {
    if (executed.find(reduced) == std::string::npos) continue;
    return failed_precondition(
        fmt::format("the reference \"{}\" executed in {}, a reference has to execute in FP32",
                    info.name, executed));
  }
  return ok_status();
}

Result<CompiledModel> compile_reference(Session& session, const ReferenceRequest& request,
                                        const std::vector<std::string>& options,
                                        RunObserver& observer, Reference& reference) {
  ASSIGN_OR_RETURN(const JsonValue answers, reference_answers(request.manifest, options));
  workload::Plan plan = *request.plan;
  plan.model = request.info;
  const std::string configs = JsonValue(workload::configs_json(plan, answers.get())).dump();
  Compiled compiled;
  RETURN_IF_ERROR(compile_in_session(session, request.manifest,
                                     {.configs = configs, .artifact_folder = request.work_folder},
                                     observer, compiled));
  reference.executed_precision = declared_execution(compiled.parsed.document.get());
  reference.runtime = declared_runtime(compiled.parsed.document.get());
  RETURN_IF_ERROR(check_reference_precision(request.info, request.is_named_reference,
                                            reference.executed_precision));
  return CompiledModel{configs, compiled.compile_result, request.work_folder};
}

PhaseResult<Reference> make_reference(const SessionSettings& settings,
                                      const ReferenceRequest& request, RunObserver& observer) {
  PhaseResult<Reference> result;
  result.record.name = "reference";
  const std::int64_t start_ns = now_ns();
  const std::string key = reference_key(request);
  Reference reference;
  reference.store = request.cache / (key + ".outputs");
  const fs::path precision_note = request.cache / (key + ".precision");
  const fs::path runtime_note = request.cache / (key + ".runtime");
  const auto fail = [&](const Status& status) {
    result.record.end = {worker::Outcome::kFailed, status.to_string()};
    result.record.wall_ns = now_ns() - start_ns;
    return result;
  };
  if (const Result<std::string> precision = read_file(precision_note);
      precision.ok() && usable(reference.store, request)) {
    reference.executed_precision = *precision;
    if (Result<std::string> runtime = read_file(runtime_note); runtime.ok()) {
      reference.runtime = *std::move(runtime);
    }
    result.record.cached = true;
    result.record.wall_ns = now_ns() - start_ns;
    result.value = std::move(reference);
    return result;
  }
  if (const Status writable = check_writable_folder(request.cache, 0); !writable.ok()) {
    return fail(writable);
  }
  result.record =
      run_in_session(settings, request.manifest, "reference", [&](Session& session) -> Status {
        PassRequest pass;
        ASSIGN_OR_RETURN(pass.model, compile_reference(session, request, {}, observer, reference));
        pass.dataset = request.dataset;
        pass.samples = request.samples;
        pass.batch_size = request.batch_size;
        pass.batch_axes = request.info.batch_axes;
        pass.store = reference.store;
        pass.identity = identity_of(request);
        const Result<PassResult> passed = run_inference_pass(session, pass, observer);
        if (!passed.ok()) return passed.status();
        RETURN_IF_ERROR(write_file_atomic(runtime_note, reference.runtime));
        RETURN_IF_ERROR(write_file_atomic(precision_note, reference.executed_precision));
        result.value = std::move(reference);
        return ok_status();
      });
  std::error_code ignored;
  fs::remove_all(request.work_folder, ignored);
  return result;
}

}  // namespace assay::controller
