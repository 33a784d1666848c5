#include "worker/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "host/backend.h"
#include "loadgen/closed_loop.h"
#include "loadgen/harness.h"
#include "loadgen/host_watch.h"
#include "loadgen/record.h"
#include "worker/backend_target.h"
#include "worker/layout.h"
#include "worker/protocol.h"
#include "worker/shared_memory.h"

namespace assay::worker {
namespace {

// What a backend logs goes to the phase's log, which is this process's standard error.
class StderrLog : public host::LogSink {
 public:
  void write(std::uint32_t level, std::string_view line) override {
    fmt::print(stderr, "[{}] {}\n", level, line);
  }
};

Json error_reply(const Status& status) {
  return Json{
      {"error", {{"code", static_cast<int>(status.code())}, {"message", status.message()}}}};
}

// A member of `json` by type, or the error that says what is missing.
template <typename T>
Result<T> member(const Json& json, const char* key) {
  try {
    return json.at(key).get<T>();
  } catch (const Json::exception& error) {
    return data_loss(fmt::format("argument \"{}\": {}", key, error.what()));
  }
}

Json null_or(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

Json to_json(const host::ProbeResult& probe) {
  Json devices = Json::array();
  for (const host::Device& device : probe.devices) {
    devices.push_back({{"id", device.id},
                       {"name", device.name},
                       {"serial", device.serial},
                       {"numa_node", device.numa_node},
                       {"memory_bytes", device.memory_bytes}});
  }
  return Json{{"available", probe.available},
              {"reason", probe.reason},
              {"driver_version", probe.driver_version},
              {"sdk_version", probe.sdk_version},
              {"devices", devices}};
}

class Server;

// Calibration samples, asked from the controller one by one; it writes each into the shared slot.
class RemoteCalibration : public host::CalibrationData {
 public:
  RemoteCalibration(Server& server, const Json& description, SharedMemory memory,
                    std::vector<TensorSpec> inputs)
      : server_(&server),
        memory_(std::move(memory)),
        count_(description.value("count", std::uint64_t{0})),
        disjoint_(description.value("disjoint", false)) {
    layout_.inputs = std::move(inputs);
    layout_.input_slots = 1;
  }

  std::uint64_t sample_count() const override { return count_; }
  bool disjoint() const override { return disjoint_; }
  Result<std::span<const TensorView>> read(std::uint64_t first, std::uint64_t count) override;

 private:
  Status make_batch(std::uint64_t count);

  Server* server_;
  SharedMemory memory_;
  ArenaLayout layout_;
  std::uint64_t count_;
  bool disjoint_;
  std::vector<Tensor> batch_;
  std::vector<TensorView> views_;
};

class Server {
 public:
  explicit Server(Channel channel) : channel_(std::move(channel)) {}

  int run();

  // Sends an event; with `wants_reply` waits for the controller's answer.
  Result<Json> event(Json body, bool wants_reply);

 private:
  using Handler = Result<Json> (Server::*)(const Json& request, int fd);
  static const std::map<std::string, Handler>& handlers();

  Result<Json> dispatch(const Message& message);
  Result<Json> hello(const Json& request, int fd);
  Result<Json> open(const Json& request, int fd);
  Result<Json> probe(const Json& request, int fd);
  Result<Json> interact_profile(const Json& request, int fd);
  Result<Json> pre_optimize(const Json& request, int fd);
  Result<Json> best_batch_size(const Json& request, int fd);
  Result<Json> compile(const Json& request, int fd);
  Result<Json> load(const Json& request, int fd);
  Result<Json> arena(const Json& request, int fd);
  Result<Json> record(const Json& request, int fd);
  Result<Json> infer(const Json& request, int fd);
  Result<Json> measure(const Json& request, int fd);
  Result<Json> harness(const Json& request, int fd);
  Result<Json> close(const Json& request, int fd);

  Result<host::CompileBackend*> compiler();
  Result<host::RuntimeBackend*> runtime();
  Status plan_adaptation(const Json& request);
  Result<loadgen::ClosedLoopSettings> loop_settings(const Json& request) const;

  Channel channel_;
  std::mutex sending_;
  bool leaving_ = false;
  std::optional<host::Library> library_;
  std::optional<host::CompileBackend> compiler_;
  std::optional<host::RuntimeBackend> runtime_;
  std::int64_t load_start_ns_ = 0;
  host::Adaptation adaptation_;
  std::unique_ptr<host::AdaptedRuntime> adapted_;
  std::optional<ArenaLayout> layout_;
  SharedMemory arena_;
  SharedMemory record_;
};

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

Result<std::span<const TensorView>> RemoteCalibration::read(std::uint64_t first,
                                                            std::uint64_t count) {
  if (count == 0 || first >= count_ || count > count_ - first) {
    return out_of_range(
        fmt::format("calibration samples {} to {} of {}", first, first + count, count_));
  }
  RETURN_IF_ERROR(make_batch(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const Json reply,
                     server_->event({{"event", "calibration"}, {"index", first + i}}, true));
    if (reply.contains("error")) return internal_error(reply["error"].get<std::string>());
    for (std::size_t k = 0; k < batch_.size(); ++k) {
      const auto sample = input_bytes(layout_, memory_.bytes(), 0, k);
      std::copy(sample.begin(), sample.end(),
                batch_[k].bytes().begin() + static_cast<std::ptrdiff_t>(i * sample.size()));
    }
  }
  return std::span<const TensorView>(views_);
}

Status RemoteCalibration::make_batch(std::uint64_t count) {
  batch_.clear();
  views_.clear();
  for (TensorSpec spec : layout_.inputs) {
    ASSIGN_OR_RETURN(spec.shape, with_batch(spec.shape, static_cast<std::int64_t>(count)));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::make(std::move(spec)));
    batch_.push_back(std::move(tensor));
  }
  for (const Tensor& tensor : batch_) views_.push_back(tensor.view());
  return ok_status();
}

const std::map<std::string, Server::Handler>& Server::handlers() {
  static const std::map<std::string, Handler> kHandlers = {
      {"hello", &Server::hello},
      {"open", &Server::open},
      {"probe", &Server::probe},
      {"interact_profile", &Server::interact_profile},
      {"pre_optimize", &Server::pre_optimize},
      {"best_batch_size", &Server::best_batch_size},
      {"compile", &Server::compile},
      {"load", &Server::load},
      {"arena", &Server::arena},
      {"record", &Server::record},
      {"infer", &Server::infer},
      {"measure", &Server::measure},
      {"harness", &Server::harness},
      {"close", &Server::close},
  };
  return kHandlers;
}

int Server::run() {
  while (!leaving_) {
    const Result<Message> message = channel_.receive(std::nullopt);
    if (!message.ok()) return message.status().code() == StatusCode::kUnavailable ? 0 : 1;
    const Result<Json> reply = dispatch(*message);
    const std::scoped_lock lock(sending_);
    if (!channel_.send(reply.ok() ? *reply : error_reply(reply.status())).ok()) return 0;
  }
  return 0;
}

Result<Json> Server::dispatch(const Message& message) {
  const std::string op = message.body->value("op", "");
  const auto handler = handlers().find(op);
  if (handler == handlers().end()) {
    if (message.fd >= 0) ::close(message.fd);
    return unimplemented(fmt::format("no operation \"{}\"", op));
  }
  return (this->*handler->second)(message.body.get(), message.fd);
}

Result<Json> Server::event(Json body, bool wants_reply) {
  body["wants_reply"] = wants_reply;
  const std::scoped_lock lock(sending_);
  RETURN_IF_ERROR(channel_.send(body));
  if (!wants_reply) return Json::object();
  ASSIGN_OR_RETURN(const Message message, channel_.receive(std::nullopt));
  return message.body.get();
}

Result<Json> Server::hello(const Json& request, int /*fd*/) {
  const int protocol = request.value("protocol", 0);
  if (protocol != kProtocolVersion) {
    return failed_precondition(fmt::format("the controller speaks protocol {}, this worker {}",
                                           protocol, kProtocolVersion));
  }
  return Json{{"protocol", kProtocolVersion}};
}

Result<Json> Server::open(const Json& request, int /*fd*/) {
  static StderrLog log;
  ASSIGN_OR_RETURN(const std::string path, member<std::string>(request, "library"));
  ASSIGN_OR_RETURN(host::Library library, host::Library::open(path, &log));
  library_ = std::move(library);
  return Json{{"interface_version", library_->interface_version()}};
}

Result<host::CompileBackend*> Server::compiler() {
  if (!library_) return failed_precondition("no backend is open");
  if (!compiler_) {
    ASSIGN_OR_RETURN(host::CompileBackend made, host::CompileBackend::create(*library_));
    compiler_.emplace(std::move(made));
  }
  return &*compiler_;
}

Result<host::RuntimeBackend*> Server::runtime() {
  if (!library_) return failed_precondition("no backend is open");
  if (!runtime_) {
    ASSIGN_OR_RETURN(host::RuntimeBackend made, host::RuntimeBackend::create(*library_));
    runtime_.emplace(std::move(made));
  }
  return &*runtime_;
}

Result<Json> Server::probe(const Json& /*request*/, int /*fd*/) {
  if (!library_) return failed_precondition("no backend is open");
  ASSIGN_OR_RETURN(const std::optional<host::ProbeResult> found, host::probe(*library_));
  ASSIGN_OR_RETURN(host::CompileBackend * backend, compiler());
  ASSIGN_OR_RETURN(const host::CompileTraits traits, backend->traits());
  ASSIGN_OR_RETURN(host::RuntimeBackend * running, runtime());
  ASSIGN_OR_RETURN(const std::string version, running->version());
  return Json{{"probe", found ? to_json(*found) : Json(nullptr)},
              {"hardware_type", traits.hardware_type},
              {"need_reload", traits.need_reload},
              {"need_quant", traits.need_quant},
              {"version", version},
              {"interface_version", library_->interface_version()}};
}

Result<Json> Server::interact_profile(const Json& request, int /*fd*/) {
  ASSIGN_OR_RETURN(const std::string configs, member<std::string>(request, "configs"));
  ASSIGN_OR_RETURN(host::CompileBackend * backend, compiler());
  ASSIGN_OR_RETURN(const std::string profile, backend->get_interact_profile(configs));
  return Json{{"profile", profile}};
}

Result<Json> Server::pre_optimize(const Json& request, int /*fd*/) {
  ASSIGN_OR_RETURN(const std::string configs, member<std::string>(request, "configs"));
  ASSIGN_OR_RETURN(const std::string folder, member<std::string>(request, "folder"));
  ASSIGN_OR_RETURN(host::CompileBackend * backend, compiler());
  ASSIGN_OR_RETURN(const std::optional<std::string> changed,
                   backend->pre_optimize(configs, folder));
  return Json{{"configs", null_or(changed)}};
}

Result<Json> Server::best_batch_size(const Json& /*request*/, int /*fd*/) {
  ASSIGN_OR_RETURN(host::CompileBackend * backend, compiler());
  ASSIGN_OR_RETURN(const auto sizes, backend->get_best_batch_size());
  return Json{{"batch_sizes", sizes ? Json(*sizes) : Json(nullptr)}};
}

Result<Json> Server::compile(const Json& request, int fd) {
  host::CompileRequest job;
  ASSIGN_OR_RETURN(job.configs, member<std::string>(request, "configs"));
  ASSIGN_OR_RETURN(const std::string folder, member<std::string>(request, "artifact_folder"));
  job.artifact_folder = folder;
  job.progress = [this](double done, std::string_view stage) {
    return event({{"event", "progress"}, {"done", done}, {"stage", stage}}, false).ok();
  };
  ASSIGN_OR_RETURN(host::CompileBackend * backend, compiler());
  std::unique_ptr<host::CalibrationData> data = std::make_unique<host::NoData>();
  if (fd >= 0) {
    ASSIGN_OR_RETURN(const Json description, member<Json>(request, "calibration"));
    ASSIGN_OR_RETURN(const std::size_t bytes, member<std::size_t>(description, "bytes"));
    ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::attach(fd, bytes));
    ASSIGN_OR_RETURN(std::vector<TensorSpec> inputs,
                     specs_from_json(description.value("inputs", Json())));
    data = std::make_unique<RemoteCalibration>(*this, description, std::move(memory),
                                               std::move(inputs));
  }
  const std::int64_t start_ns = now_ns();
  ASSIGN_OR_RETURN(const std::string result, backend->compile(job, *data));
  return Json{{"result", result}, {"wall_ns", now_ns() - start_ns}};
}

Result<Json> Server::load(const Json& request, int /*fd*/) {
  host::LoadRequest job;
  ASSIGN_OR_RETURN(job.configs, member<std::string>(request, "configs"));
  ASSIGN_OR_RETURN(job.compile_result, member<std::string>(request, "compile_result"));
  ASSIGN_OR_RETURN(const std::string folder, member<std::string>(request, "artifact_folder"));
  job.artifact_folder = folder;
  ASSIGN_OR_RETURN(job.batch_size, member<std::int64_t>(request, "batch_size"));
  job.device_ids = request.value("device_ids", std::vector<std::int32_t>());
  job.cpu_set = request.value("cpu_set", std::vector<std::int32_t>());
  ASSIGN_OR_RETURN(host::RuntimeBackend * backend, runtime());
  load_start_ns_ = now_ns();
  RETURN_IF_ERROR(backend->load(job));
  const std::int64_t load_ns = now_ns() - load_start_ns_;
  RETURN_IF_ERROR(plan_adaptation(request));
  adapted_ = std::make_unique<host::AdaptedRuntime>(*backend, adaptation_);
  Json conversions = Json::array();
  for (const host::TensorRule& rule : adaptation_.inputs) {
    if (!rule.converts()) continue;
    conversions.push_back({{"input", rule.name},
                           {"from", name_of(rule.from)},
                           {"to", name_of(rule.to)},
                           {"lossy", rule.lossy}});
  }
  return Json{
      {"loaded_batch_size", backend->loaded_batch_size()},
      {"load_ns", load_ns},
      {"thread_rule", backend->thread_rule() == host::ThreadRule::kAny ? "any" : "one_call"},
      {"qs_mode_supported", backend->is_qs_mode_supported()},
      {"inputs", worker::to_json(backend->signature().inputs)},
      {"outputs", worker::to_json(adapted_->output_specs())},
      {"conversions", conversions}};
}

Status Server::plan_adaptation(const Json& request) {
  ASSIGN_OR_RETURN(const std::vector<TensorSpec> caller,
                   specs_from_json(request.value("caller_inputs", Json())));
  const auto policy = request.value("lossy_conversion", false) ? host::AdaptPolicy::kLossy
                                                               : host::AdaptPolicy::kLossless;
  ASSIGN_OR_RETURN(adaptation_, host::plan_adaptation(caller, runtime_->signature(), policy,
                                                      request.value("float_outputs", true)));
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
  if (request.value("skip_warmup", false)) settings.warmup.cap_ns = settings.warmup.floor_ns = 0;
  return settings;
}

Result<Json> Server::measure(const Json& request, int /*fd*/) {
  if (!runtime_ || !layout_ || record_.bytes().empty()) {
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
  BackendTarget target(*runtime_, *layout_, arena_.bytes(), std::move(order),
                       {settings.clients, kept, settings.seed, adaptation_});
  WindowObserver observer(*this);
  RETURN_IF_ERROR(
      loadgen::run_closed_loop(target, settings, recorder, std::stop_token(), &observer));
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
              {"conversion",
               {{"calls", conversions.calls},
                {"tensors", conversions.tensors},
                {"input_ns", conversions.input_ns},
                {"output_ns", conversions.output_ns}}}};
}

Result<Json> Server::harness(const Json& /*request*/, int /*fd*/) {
  if (!runtime_ || !layout_) return failed_precondition("harness needs load and arena first");
  BackendTarget target(*runtime_, *layout_, arena_.bytes(), loadgen::QueryOrder::repeated(0),
                       {1, 0, 0, adaptation_});
  ASSIGN_OR_RETURN(const loadgen::HarnessOverhead overhead, loadgen::measure_harness(target));
  return Json{{"harness", loadgen::to_json(overhead)}};
}

Result<Json> Server::close(const Json& /*request*/, int /*fd*/) {
  leaving_ = true;
  adapted_.reset();
  if (runtime_) RETURN_IF_ERROR(runtime_->close());
  return Json::object();
}

}  // namespace

int serve(Channel channel) { return Server(std::move(channel)).run(); }

}  // namespace assay::worker
