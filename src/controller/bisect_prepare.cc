#include "controller/bisect_prepare.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "controller/run_folders.h"
#include "controller/set_up.h"
#include "controller/steps.h"
#include "worker/memory_limit.h"
#include "workload/interact_profile.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

SessionSettings session_settings(const workload::RunRequest& request,
                                 const RunEnvironment& environment, const fs::path& folder) {
  SessionSettings session;
  session.worker_program = environment.installation.worker;
  session.log_folder = folder;
  session.stop = environment.stop;
  session.memory_limit_bytes = worker::memory_limit_bytes();
  if (request.timeout_s) {
    session.timeout =
        std::chrono::milliseconds(static_cast<std::int64_t>(*request.timeout_s * 1000));
  }
  return session;
}

Result<JsonValue> answers_of(const SessionSettings& session, const Setup& setup,
                             const RunEnvironment& environment) {
  const std::string bare = JsonValue(workload::configs_json(setup.plan, Json::object())).dump();
  const PhaseResult<std::string> asked = ask_profile(session, setup.manifest, bare);
  workload::InteractProfile profile;
  if (asked.value && !asked.value->empty()) {
    const Json returned = Json::parse(*asked.value, nullptr, /*allow_exceptions=*/false);
    ASSIGN_OR_RETURN(
        profile, workload::interact_profile_from_backend(returned, setup.manifest.hardware_type));
  } else if (!setup.manifest.profile.empty()) {
    ASSIGN_OR_RETURN(profile, workload::load_interact_profile(setup.manifest.profile_path()));
  }
  const workload::RunRequest& request = setup.plan.request;
  ASSIGN_OR_RETURN(const workload::Answers answers,
                   workload::resolve_answers(
                       profile, {request.set_options, request.answers_file, environment.dialogs}));
  return JsonValue(workload::interact_info(answers));
}

}  // namespace

Result<WorkFolder> WorkFolder::make(const fs::path& cache) {
  remove_stale_staging(cache);
  const fs::path path = staging_folder(cache, ::getpid());
  RETURN_IF_ERROR(check_writable_folder(path, 0));
  return WorkFolder(path);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<BisectPrepared> prepare_bisect(const workload::RunRequest& request,
                                      const RunEnvironment& environment) {
  ASSIGN_OR_RETURN(Setup setup, set_up(request, environment));
  ASSIGN_OR_RETURN(WorkFolder work, WorkFolder::make(environment.installation.cache));
  ASSIGN_OR_RETURN(
      DeviceLock device,
      DeviceLock::take(environment.installation.cache / "locks", setup.manifest.hardware_type,
                       *environment.stop,
                       [&](const std::string& what) { environment.observer->waiting(what); }));
  BisectBackend tested{session_settings(request, environment, work.path()), setup.manifest, {}};
  Status open_error;
  const PhaseResult<ProbeFacts> probe = probe_backend(tested.session, tested.manifest, open_error);
  RETURN_IF_ERROR(open_error);
  ASSIGN_OR_RETURN(tested.interact_info, answers_of(tested.session, setup, environment));
  if (environment.stop->load()) return cancelled("interrupted");
  return BisectPrepared{std::move(work), std::move(setup), std::move(device), std::move(tested),
                        probe.value ? probe.value->version : ""};
}

}  // namespace assay::controller
