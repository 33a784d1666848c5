#include "controller/set_up.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "controller/data.h"
#include "worker/memory_limit.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

// What --hardware_type may name: Assay's own internal backends only when `asked` is one.
std::vector<std::string> hardware_types(const Installation& installation,
                                        const std::string& asked) {
  std::vector<std::string> names;
  for (const host::FoundBackend& backend : host::find_backends(installation.backends)) {
    const bool hidden = backend.manifest.ok() && backend.manifest->internal;
    if (!hidden || backend.hardware_type == asked) names.push_back(backend.hardware_type);
  }
  return names;
}

// The folder that a command has to name for this backend to be found; empty when none has to be.
fs::path folder_to_name(const host::Manifest& manifest, const Installation& installation) {
  const auto found = host::find_backend(manifest.hardware_type, installation.own_backends);
  const bool same = found.ok() && found->folder == manifest.folder;
  return same ? fs::path() : manifest.folder.parent_path();
}

// `opened` takes the data set that the plan's check opens: reading and hashing it once is enough.
workload::PlanContext plan_context(const RunEnvironment& environment,
                                   const workload::RunRequest& request,
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
  context.hardware_types = hardware_types(installation, request.hardware_type);
  return context;
}

std::uint64_t samples_to_use(const workload::Plan& plan, std::uint64_t size) {
  const double share = std::ceil(static_cast<double>(size) * plan.workload.data_percent / 100.0);
  const auto wanted = static_cast<std::uint64_t>(share);
  const auto floor =
      static_cast<std::uint64_t>(std::max<std::int64_t>(plan.min_accuracy_samples, 1));
  return std::clamp<std::uint64_t>(std::max(wanted, floor), 1, size);
}

}  // namespace

Result<Setup> set_up(const workload::RunRequest& request, const RunEnvironment& environment) {
  Setup setup;
  ASSIGN_OR_RETURN(setup.plan,
                   workload::make_plan(request, plan_context(environment, request, setup.data)));
  setup.folder = fs::absolute(request.output);
  ASSIGN_OR_RETURN(setup.manifest,
                   host::find_backend(request.hardware_type, environment.installation.backends));
  setup.plan.request.backends_folder = folder_to_name(setup.manifest, environment.installation);
  const ModelFile* read = setup.plan.model_file ? &*setup.plan.model_file : nullptr;
  if (!setup.data) {
    ASSIGN_OR_RETURN(setup.data, open_data(setup.plan.model, read, request.task, true, request.seed,
                                           environment.installation));
  }
  if (setup.plan.workload.fake_data && !setup.plan.generated_data) {
    ASSIGN_OR_RETURN(setup.fake_data, open_data(setup.plan.model, read, request.task, true,
                                                request.seed, environment.installation));
  }
  setup.samples = samples_to_use(setup.plan, setup.data->size());
  ASSIGN_OR_RETURN(setup.metric, parse_metric(setup.plan.model.metric.get()));
  return setup;
}

SessionSettings session_settings(const workload::RunRequest& request,
                                 const RunEnvironment& environment) {
  SessionSettings session;
  session.worker_program = environment.installation.worker;
  session.stop = environment.stop;
  session.memory_limit_bytes = worker::memory_limit_bytes();
  if (request.timeout_s) {
    session.timeout =
        std::chrono::milliseconds(static_cast<std::int64_t>(*request.timeout_s * 1000));
  }
  return session;
}

}  // namespace assay::controller
