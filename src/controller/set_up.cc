#include "controller/set_up.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "controller/data.h"
#include "controller/python_set_up.h"
#include "worker/memory_limit.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

// What --hardware_type may name: Assay's own internal backends only when `asked` is one.
std::vector<std::string> hardware_types(const std::vector<fs::path>& paths,
                                        const std::string& asked) {
  std::vector<std::string> names;
  for (const host::FoundBackend& backend : host::find_backends(paths)) {
    const bool hidden = backend.manifest.ok() && backend.manifest->internal;
    if (!hidden || backend.hardware_type == asked) names.push_back(backend.hardware_type);
  }
  return names;
}

// The folder that a command has to name for this backend to be found; empty when none has to be.
fs::path folder_to_name(const workload::RunRequest& request, const host::Manifest& manifest,
                        const Installation& installation) {
  if (!request.backend_path.empty()) return {};
  const auto found = host::find_backend(manifest.hardware_type, installation.own_backends);
  const bool same = found.ok() && found->folder == manifest.folder;
  return same ? fs::path() : manifest.folder.parent_path();
}

// `opened` takes the data set that the plan's check opens: reading and hashing it once is enough.
workload::PlanContext plan_context(const RunEnvironment& environment,
                                   const workload::RunRequest& request,
                                   const std::vector<fs::path>& backends,
                                   std::unique_ptr<dataset::Dataset>& opened) {
  const Installation& installation = environment.installation;
  workload::PlanContext context;
  context.read_model = [](const fs::path& path, std::string_view format) {
    return read_model(path, format);
  };
  context.is_fetched = [&installation](const std::string& task) {
    return is_fetched_task(installation, task);
  };
  context.check_dataset = [&](const workload::ModelInfo& info) -> Status {
    ASSIGN_OR_RETURN(opened, open_data(info, nullptr, request.task, /*generated=*/false,
                                       request.seed, installation));
    return ok_status();
  };
  context.hardware_types = hardware_types(backends, request.hardware_type);
  return context;
}

std::uint64_t samples_to_use(const workload::Plan& plan, const dataset::Dataset& data) {
  const std::uint64_t size = data.size();
  const double share = std::ceil(static_cast<double>(size) * plan.workload.data_percent / 100.0);
  const auto wanted = static_cast<std::uint64_t>(share);
  const auto floor =
      static_cast<std::uint64_t>(std::max<std::int64_t>(plan.min_accuracy_samples, 1));
  const auto samples = std::clamp<std::uint64_t>(std::max(wanted, floor), 1, size);
  if (data.questions() == nullptr) return samples;
  return dataset::with_whole_questions(*data.questions(), samples);
}

// Read once where that was done already.
Result<ModelFiles> model_files_of(const workload::Plan& plan) {
  if (plan.model_file)
    return ModelFiles{plan.model_file->content_hash, plan.model_file->size_bytes};
  return hash_model_files(plan.model.model_path, plan.model.model_format);
}

}  // namespace

Result<std::vector<fs::path>> search_paths(const workload::RunRequest& request,
                                           const Installation& installation) {
  std::vector<fs::path> paths = installation.backends;
  if (request.backend_path.empty()) return paths;
  const Result<fs::path> first = host::search_path_of(request.backend_path);
  if (!first.ok()) return first.status().with_context("--backend_path");
  paths.insert(paths.begin(), *first);
  return paths;
}

Result<Setup> set_up(const workload::RunRequest& request, const RunEnvironment& environment) {
  Setup setup;
  ASSIGN_OR_RETURN(const std::vector<fs::path> backends,
                   search_paths(request, environment.installation));
  ASSIGN_OR_RETURN(setup.plan, workload::make_plan(request, plan_context(environment, request,
                                                                         backends, setup.data)));
  setup.folder = fs::absolute(request.output);
  ASSIGN_OR_RETURN(setup.manifest, host::find_backend(request.hardware_type, backends));
  RETURN_IF_ERROR(check_python_options(request, setup.manifest));
  setup.plan.request.backends_folder =
      folder_to_name(request, setup.manifest, environment.installation);
  ASSIGN_OR_RETURN(setup.model_files, model_files_of(setup.plan));
  const ModelFile* read = setup.plan.model_file ? &*setup.plan.model_file : nullptr;
  if (!setup.data) {
    ASSIGN_OR_RETURN(setup.data, open_data(setup.plan.model, read, request.task, true, request.seed,
                                           environment.installation));
  }
  if (setup.plan.workload.fake_data && !setup.plan.generated_data) {
    ASSIGN_OR_RETURN(setup.fake_data, open_data(setup.plan.model, read, request.task, true,
                                                request.seed, environment.installation));
  }
  setup.samples = samples_to_use(setup.plan, *setup.data);
  ASSIGN_OR_RETURN(setup.metric, parse_metric(setup.plan.model.metric.get()));
  return setup;
}

SessionSettings session_settings(const Installation& installation, const std::atomic<bool>& stop,
                                 std::optional<double> timeout_s) {
  SessionSettings session;
  session.worker_program = installation.worker;
  session.stop = &stop;
  session.memory_limit_bytes = worker::memory_limit_bytes();
  session.fallback = find_fallback(installation.backends);
  if (timeout_s) {
    session.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(*timeout_s * 1000));
  }
  return session;
}

SessionSettings session_settings(const workload::RunRequest& request,
                                 const RunEnvironment& environment) {
  SessionSettings session =
      session_settings(environment.installation, *environment.stop, request.timeout_s);
  if (request.worker_memory_limit_gb) {
    const auto asked = static_cast<std::int64_t>(*request.worker_memory_limit_gb * 1e9);
    session.memory_limit_bytes =
        session.memory_limit_bytes > 0 ? std::min(session.memory_limit_bytes, asked) : asked;
  }
  session.cpu_limit_ns = static_cast<std::int64_t>(request.worker_cpu_limit_s.value_or(0) * 1e9);
  return session;
}

}  // namespace assay::controller
