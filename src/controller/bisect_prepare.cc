#include "controller/bisect_prepare.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "controller/python_set_up.h"
#include "controller/run_folders.h"
#include "controller/set_up.h"
#include "controller/steps.h"
#include "workload/interact_profile.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

Result<JsonValue> answers_of(const SessionSettings& session, const Setup& setup,
                             const RunEnvironment& environment) {
  const std::string bare = JsonValue(workload::configs_json(setup.plan, Json::object())).dump();
  const PhaseResult<std::string> asked = ask_profile(session, setup.manifest, bare);
  ASSIGN_OR_RETURN(const workload::InteractProfile profile,
                   read_profile(asked.value.value_or(""), setup.manifest));
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
  BisectBackend tested{session_settings(request, environment), setup.manifest, {}};
  tested.session.log_folder = work.path();
  if (setup.manifest.language == host::Language::kPython) {
    ASSIGN_OR_RETURN(PythonSetUp python,
                     set_up_python(request, setup.manifest, environment, work.path()));
    tested.session.python = std::move(python.worker);
  }
  Status open_error;
  const PhaseResult<ProbeFacts> probe = probe_backend(tested.session, tested.manifest, open_error);
  RETURN_IF_ERROR(open_error);
  ASSIGN_OR_RETURN(tested.interact_info, answers_of(tested.session, setup, environment));
  if (environment.stop->load()) return cancelled("interrupted");
  return BisectPrepared{std::move(work), std::move(setup), std::move(device), std::move(tested),
                        probe.value ? probe.value->version : ""};
}

}  // namespace assay::controller
