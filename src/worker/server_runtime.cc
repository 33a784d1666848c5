// The worker's operations that run a compiled model.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json_parse.h"
#include "loadgen/client_loop.h"
#include "loadgen/harness.h"
#include "loadgen/host_watch.h"
#include "loadgen/record.h"
#include "worker/backend_target.h"
#include "worker/exercise.h"
#include "worker/server_state.h"

namespace assay::worker {
namespace {

// Tells the controller when the window opens and closes, so that it times it with its own clock,
// and looks at the host at the same moments.
class WindowObserver : public loadgen::ClosedLoopObserver {
 public:
  explicit WindowObserver(Server& server) : server_(&server) {}

  void window_opened() override {
    tell("opened");
    opened_ = loadgen::take_host_snapshot();
  }
  void window_closed() override {
    tell("closed");
    closed_ = loadgen::take_host_snapshot();
  }

  Json host(std::uint32_t own_threads) const {
    if (!opened_ || !closed_) return nullptr;
    return loadgen::to_json(loadgen::compare_host(*opened_, *closed_, own_threads));
  }

 private:
  // A controller that is gone shows at the end of the call; nothing can be said before.
  void tell(const char* what) {
    (void)server_->event({{"event", "window"}, {"what", what}}, false).ok();
  }

  Server* server_;
  std::optional<loadgen::HostSnapshot> opened_;
  std::optional<loadgen::HostSnapshot> closed_;
};

// Values may be lost on the way to the model when its info says "lossy_conversion": true.
host::AdaptPolicy conversion_policy(const std::string& configs) {
  const Result<Json> json = parse_json(configs);
  const Json info = json.ok() && json->is_object() ? json->value("model_info", Json()) : Json();
  const auto asked = info.is_object() ? info.find("lossy_conversion") : info.end();
  const bool lossy = asked != info.end() && *asked == true;
  return lossy ? host::AdaptPolicy::kLossy : host::AdaptPolicy::kLossless;
}

// Of a backend that has an interpreter: the calls between two looks, and their waits for its lock.
Json lock_difference(const Json& before, const Json& after) {
  constexpr const char* kLock = "interpreter_lock";
  if (!before.contains(kLock) || !after.contains(kLock)) return nullptr;
  Json difference = Json::object();
  for (const char* key : {"calls", "wait_ns"}) {
    difference[key] =
        after[kLock].value(key, std::int64_t{0}) - before[kLock].value(key, std::int64_t{0});
  }
  return difference;
}

}  // namespace

Result<Json> Server::load(const Json& request, int /*fd*/) {
  host::LoadRequest job;
  ASSIGN_OR_RETURN(job.configs, member<std::string>(request, "configs"));
  ASSIGN_OR_RETURN(job.compile_result, member<std::string>(request, "compile_result"));
  ASSIGN_OR_RETURN(const std::string folder, member<std::string>(request, "artifact_folder"));
  job.artifact_folder = folder;
  ASSIGN_OR_RETURN(job.batch_size, member<std::int64_t>(request, "batch_size"));
  job.calling = [this](const char* method) { calling(method); };
  if (request.value("new_handle", false)) RETURN_IF_ERROR(close_handles());
  const Json segments = request.value("segments", Json());
  load_start_ns_ = now_ns();
  if (segments.is_null()) {
    RETURN_IF_ERROR(load_whole(job));
  } else {
    RETURN_IF_ERROR(load_segments(segments, job));
  }
  const std::int64_t load_ns = now_ns() - load_start_ns_;
  RETURN_IF_ERROR(plan_adaptation(request, conversion_policy(job.configs)));
  adapted_ = std::make_unique<host::AdaptedRuntime>(*loaded_, adaptation_);
  Json conversions = Json::array();
  for (const host::TensorRule& rule : adaptation_.inputs) {
    if (!rule.converts()) continue;
    conversions.push_back({{"input", rule.name},
                           {"from", name_of(rule.from)},
                           {"to", name_of(rule.to)},
                           {"lossy", rule.lossy}});
  }
  // What speaks of the whole model is not asked of the runtime of a segment.
  const host::RuntimeBackend* whole = pipeline_ ? nullptr : &*runtime_;
  return Json{
      {"loaded_batch_size", loaded_->loaded_batch_size()},
      {"load_ns", load_ns},
      {"thread_rule", loaded_->thread_rule() == host::ThreadRule::kAny ? "any" : "one_call"},
      {"qs_mode_supported", whole != nullptr && whole->is_qs_mode_supported()},
      {"has_benchmark", whole != nullptr && whole->has_benchmark()},
      {"inputs", worker::to_json(loaded_->signature().inputs)},
      {"outputs", worker::to_json(adapted_->output_specs())},
      {"conversions", conversions}};
}

Status Server::load_whole(const host::LoadRequest& job) {
  RETURN_IF_ERROR(close_pipeline());
  ASSIGN_OR_RETURN(host::RuntimeBackend * backend, runtime());
  RETURN_IF_ERROR(backend->load(job));
  loaded_ = backend;
  return ok_status();
}

Status Server::close_pipeline() {
  adapted_.reset();
  loaded_ = nullptr;
  const std::unique_ptr<host::Pipeline> pipeline = std::move(pipeline_);
  return pipeline ? pipeline->close() : ok_status();
}

Status Server::close_handles() {
  if (pipeline_ || runtime_) calling("close");
  RETURN_IF_ERROR(close_pipeline());
  if (!runtime_) return ok_status();
  RETURN_IF_ERROR(runtime_->close());
  runtime_.reset();
  return ok_status();
}

Status Server::plan_adaptation(const Json& request, host::AdaptPolicy policy) {
  ASSIGN_OR_RETURN(std::vector<TensorSpec> caller,
                   specs_from_json(request.value("caller_inputs", Json())));
  ASSIGN_OR_RETURN(const std::int64_t asked, member<std::int64_t>(request, "batch_size"));
  caller = host::in_loaded_batches(std::move(caller), loaded_->signature(), asked,
                                   loaded_->loaded_batch_size());
  ASSIGN_OR_RETURN(adaptation_, host::plan_adaptation(caller, loaded_->signature(), policy,
                                                      /*float_outputs=*/true));
  return ok_status();
}

Result<Json> Server::arena(const Json& request, int fd) {
  ASSIGN_OR_RETURN(const Json description, member<Json>(request, "layout"));
  ASSIGN_OR_RETURN(ArenaLayout layout, layout_from_json(description));
  ASSIGN_OR_RETURN(const std::size_t bytes, arena_bytes(layout));
  ASSIGN_OR_RETURN(arena_, SharedMemory::attach(fd, bytes));
  layout_ = std::move(layout);
  return Json::object();
}

Result<Json> Server::record(const Json& request, int fd) {
  ASSIGN_OR_RETURN(const std::size_t bytes, member<std::size_t>(request, "bytes"));
  ASSIGN_OR_RETURN(record_, SharedMemory::attach(fd, bytes));
  return Json::object();
}

Result<Json> Server::infer(const Json& request, int /*fd*/) {
  if (!adapted_ || !layout_) return failed_precondition("infer needs load and arena first");
  ASSIGN_OR_RETURN(const std::size_t slot, member<std::size_t>(request, "slot"));
  if (slot >= layout_->input_slots || slot >= layout_->output_slots) {
    return out_of_range(fmt::format("slot {} of {}", slot, layout_->input_slots));
  }
  SlotSink sink(layout_->outputs.size());
  sink.aim(output_slot(*layout_, arena_.bytes(), slot));
  sink.poison();
  const std::vector<TensorView> inputs = slot_views(*layout_, arena_.bytes(), slot);
  const std::int64_t start_ns = now_ns();
  const Status status = adapted_->infer(inputs, sink);
  const std::int64_t infer_ns = now_ns() - start_ns;
  if (const std::size_t needed = sink.missing_capacity_bytes(); needed > 0) {
    return Json{{"slot", slot}, {"needed_output_bytes", needed}};
  }
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(check_ends(sink, layout_->outputs));
  return Json{{"slot", slot}, {"infer_ns", infer_ns}};
}

Result<loadgen::ClosedLoopSettings> Server::loop_settings(const Json& request) const {
  loadgen::ClosedLoopSettings settings;
  ASSIGN_OR_RETURN(settings.clients, member<std::uint32_t>(request, "clients"));
  ASSIGN_OR_RETURN(settings.iterations, member<std::uint64_t>(request, "iterations"));
  ASSIGN_OR_RETURN(settings.exact_iterations, member<bool>(request, "exact_iterations"));
  ASSIGN_OR_RETURN(settings.min_samples, member<std::uint64_t>(request, "min_samples"));
  ASSIGN_OR_RETURN(settings.max_duration_ns, member<std::int64_t>(request, "max_duration_ns"));
  ASSIGN_OR_RETURN(settings.seed, member<std::uint64_t>(request, "seed"));
  settings.repeat_input = request.value("repeat_input", false);
  settings.load_start_ns = load_start_ns_;
  settings.min_duration_ns = request.value("min_duration_ns", settings.min_duration_ns);
  if (request.value("skip_warmup", false)) {
    settings.warmup.cap_ns = settings.warmup.floor_ns = 0;
    settings.chunk = chunk_;
  }
  return settings;
}

Result<Json> Server::measure(const Json& request, int /*fd*/) {
  if (loaded_ == nullptr || !layout_ || record_.bytes().empty()) {
    return failed_precondition("measure needs load, arena and record first");
  }
  ASSIGN_OR_RETURN(const loadgen::ClosedLoopSettings settings, loop_settings(request));
  ASSIGN_OR_RETURN(const std::uint64_t capacity, member<std::uint64_t>(request, "exact_capacity"));
  ASSIGN_OR_RETURN(const std::size_t kept, member<std::size_t>(request, "kept_per_client"));
  if (settings.clients * (kept + 1) > layout_->output_slots) {
    return invalid_argument(
        fmt::format("{} clients that keep {} outputs each need more than {} slots",
                    settings.clients, kept, layout_->output_slots));
  }
  ASSIGN_OR_RETURN(loadgen::Recorder recorder,
                   loadgen::Recorder::create(record_.bytes(), {settings.clients, capacity}));
  loadgen::QueryOrder order =
      settings.repeat_input ? loadgen::QueryOrder::repeated(0)
                            : loadgen::QueryOrder::shuffled(
                                  static_cast<std::uint32_t>(layout_->input_slots), settings.seed);
  BackendTarget target(*loaded_, *layout_, arena_.bytes(), std::move(order),
                       {settings.clients, kept, settings.seed, adaptation_});
  WindowObserver observer(*this);
  ASSIGN_OR_RETURN(const Json before, backend_facts());
  calling("infer");
  RETURN_IF_ERROR(
      loadgen::run_closed_loop(target, settings, recorder, std::stop_token(), &observer));
  if (settings.warmup.cap_ns > 0) {
    ASSIGN_OR_RETURN(const loadgen::RecordView seen, loadgen::parse(record_.bytes()));
    const auto median_ns = static_cast<double>(seen.warmup.last_median_ns);
    chunk_ = settings.exact_iterations ? 1 : loadgen::chunk_for(median_ns > 0 ? median_ns : 1e9);
  }
  ASSIGN_OR_RETURN(const Json after, backend_facts());
  Json calls = Json::array();
  for (const KeptCall& call : target.kept_calls()) {
    calls.push_back({{"query", call.query},
                     {"input_slot", call.input_slot},
                     {"output_slot", call.output_slot}});
  }
  const host::ConversionCounts conversions = target.conversions();
  return Json{{"kept", calls},
              {"host", observer.host(settings.clients)},
              {"instance_wait_ns", target.instance_wait_ns()},
              {"interpreter_lock", lock_difference(before, after)},
              {"conversion",
               {{"calls", conversions.calls},
                {"tensors", conversions.tensors},
                {"input_ns", conversions.input_ns},
                {"output_ns", conversions.output_ns}}}};
}

Result<Json> Server::exercise(const Json& request, int /*fd*/) {
  if (loaded_ == nullptr || !layout_)
    return failed_precondition("exercise needs load and arena first");
  ExerciseSettings settings;
  ASSIGN_OR_RETURN(settings.calls, member<std::uint64_t>(request, "calls"));
  ASSIGN_OR_RETURN(settings.clients, member<std::uint32_t>(request, "clients"));
  ASSIGN_OR_RETURN(settings.seed, member<std::uint64_t>(request, "seed"));
  ASSIGN_OR_RETURN(settings.max_duration_ns, member<std::int64_t>(request, "max_duration_ns"));
  settings.rows = loaded_->loaded_batch_size();
  settings.class_output = request.value("class_output", std::int64_t{-1});
  settings.record = request.value("record", false);
  settings.order = request.value("order", std::vector<std::uint64_t>());
  std::size_t needed_bytes = 0;
  calling("infer");
  const Result<check::CallDifferences> counted =
      worker::exercise(*loaded_, adaptation_, *layout_, arena_.bytes(), settings, needed_bytes);
  if (needed_bytes > 0) return Json{{"needed_output_bytes", needed_bytes}};
  RETURN_IF_ERROR(counted.status());
  return Json{{"differences", check::to_json(*counted)}};
}

Result<Json> Server::benchmark(const Json& request, int fd) {
  if (!runtime_ || pipeline_) return failed_precondition("benchmark needs a whole model loaded");
  ASSIGN_OR_RETURN(const std::unique_ptr<host::CalibrationData> data, samples(request, fd));
  ASSIGN_OR_RETURN(const std::string claims, runtime_->benchmark(*data));
  return Json{{"claims", claims}};
}

Result<Json> Server::backend_facts() {
  if (!library_ || !runtime_) return Json::object();
  ASSIGN_OR_RETURN(const std::optional<std::string> text, runtime_->facts());
  if (!text) return Json::object();
  Result<Json> facts = parse_json(*text);
  if (facts.ok() && facts->is_object()) return facts;
  return internal_error("assay.facts/1 gave what is no JSON object");
}

Result<Json> Server::facts(const Json& /*request*/, int /*fd*/) {
  ASSIGN_OR_RETURN(Json found, backend_facts());
  return Json{{"facts", std::move(found)}};
}

Result<Json> Server::harness(const Json& /*request*/, int /*fd*/) {
  if (loaded_ == nullptr || !layout_)
    return failed_precondition("harness needs load and arena first");
  BackendTarget target(*loaded_, *layout_, arena_.bytes(), loadgen::QueryOrder::repeated(0),
                       {1, 0, 0, adaptation_});
  calling("infer");
  ASSIGN_OR_RETURN(const loadgen::HarnessOverhead overhead, loadgen::measure_harness(target));
  return Json{{"harness", loadgen::to_json(overhead)}};
}

}  // namespace assay::worker
