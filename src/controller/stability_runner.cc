#include "controller/stability_runner.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/inference_pass.h"
#include "controller/kept_worker.h"
#include "controller/typed_object.h"

namespace assay::controller {
namespace {

constexpr double kGraceSeconds = 300;  // for the call that is under way when the time is over

std::int64_t class_output_of(const KnownBatches& batches, const std::optional<std::string>& name) {
  if (!name) return -1;
  for (std::size_t k = 0; k < batches.outputs.size(); ++k) {
    if (name->empty() || batches.outputs[k].name == *name) return static_cast<std::int64_t>(k);
  }
  return -1;
}

}  // namespace

Result<std::vector<TensorSpec>> StabilityRunner::input_specs(std::int64_t batch_size) const {
  return batched_specs(*request_->dataset, request_->batch_axes, batch_size);
}

SessionSettings StabilityRunner::unshared() const {
  SessionSettings settings = request_->session;
  if (settings.kept != nullptr && request_->manifest.exclusive_device) {
    settings.kept->close(settings.warnings);
  }
  settings.kept = nullptr;
  return settings;
}

Result<Session> StabilityRunner::start(const SessionSettings& settings,
                                       const host::Manifest& manifest, const ModelAt& at,
                                       LoadedModel& loaded) {
  worker::PhaseEnd end;
  Result<Session> session = Session::start(settings, manifest, "stability-" + at.name, end);
  if (!session.ok()) return session.status();
  ASSIGN_OR_RETURN(const std::vector<TensorSpec> inputs, input_specs(at.batch_size));
  const Result<LoadedModel> done =
      session->load(*at.model, at.batch_size, inputs, /*new_handle=*/true);
  if (!done.ok()) {
    session->finish(done.status());
    return done.status();
  }
  loaded = *done;
  loaded.asked_batch_size = at.batch_size;
  return session;
}

Result<Session> StabilityRunner::open(const std::string& name, const CompiledModel& model,
                                      std::int64_t batch_size, LoadedModel& loaded) {
  return start(request_->session, request_->manifest, {name, &model, batch_size}, loaded);
}

Result<Session> StabilityRunner::open_new(const std::string& name, const CompiledModel& model,
                                          std::int64_t batch_size, const Environment& environment,
                                          LoadedModel& loaded) {
  host::Manifest manifest = request_->manifest;
  for (const auto& [variable, value] : environment) manifest.environment[variable] = value;
  return start(unshared(), manifest, {name, &model, batch_size}, loaded);
}

Status StabilityRunner::close(Session& session) {
  const worker::PhaseEnd end = session.finish(ok_status());
  peak_rss_bytes_ = std::max(peak_rss_bytes_, session.peak_rss_bytes());
  return end.ok() ? ok_status() : unavailable(end.reason);
}

Status StabilityRunner::reload(Session& session, const CompiledModel& model,
                               std::int64_t batch_size) {
  ASSIGN_OR_RETURN(const std::vector<TensorSpec> inputs, input_specs(batch_size));
  return session.load(model, batch_size, inputs, /*new_handle=*/true).status();
}

Result<KnownBatches> StabilityRunner::decode(const LoadedModel& loaded, Arrangement samples) const {
  ASSIGN_OR_RETURN(std::vector<TensorSpec> inputs, input_specs(loaded.batch_size));
  return decode_batches(*request_->dataset, request_->batch_axes, std::move(inputs), loaded,
                        std::move(samples));
}

Result<check::CallDifferences> StabilityRunner::exercise(Session& session,
                                                         const KnownBatches& batches,
                                                         const ExerciseCall& call) {
  const double seconds = call.max_seconds > 0 ? call.max_seconds : request_->budget.axis_seconds;
  RETURN_IF_ERROR(share_batches(session, batches, call.callers));
  Json arguments{{"calls", call.calls},
                 {"clients", call.callers},
                 {"seed", call.seed},
                 {"max_duration_ns", static_cast<std::int64_t>(seconds * 1e9)},
                 {"class_output", class_output_of(batches, request_->class_output)},
                 {"order", call.order}};
  const std::chrono::seconds timeout(static_cast<std::int64_t>(seconds + kGraceSeconds));
  ASSIGN_OR_RETURN(const Json answer, session.call("exercise", std::move(arguments), timeout));
  if (TypedObject(answer, "the worker's answer to exercise").has("needed_output_bytes")) {
    return failed_precondition("an output is larger than the same batch's was before");
  }
  return check::call_differences_from_json(answer.value("differences", Json()));
}

Result<std::vector<std::uint32_t>> StabilityRunner::replay(const std::string& name,
                                                           const KnownBatches& batches,
                                                           std::vector<std::uint64_t> order,
                                                           const Environment& environment) {
  LoadedModel loaded;
  ASSIGN_OR_RETURN(Session session,
                   open_new(name, request_->model, batches.asked_batch_size, environment, loaded));
  const std::uint64_t calls = order.size();
  ASSIGN_OR_RETURN(const check::CallDifferences seen,
                   exercise(session, batches, {.calls = calls, .order = std::move(order)}));
  RETURN_IF_ERROR(close(session));
  return seen.call_crcs;
}

}  // namespace assay::controller
