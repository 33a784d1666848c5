#include "host/runtime_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "assay/extensions.h"
#include "host/boundary.h"
#include "host/call.h"
#include "host/data_loader.h"
#include "host/document.h"
#include "host/in_flight.h"
#include "host/tensor_check.h"

namespace assay::host {
namespace {

// A backend that declares more is used up to here.
constexpr std::uint32_t kMaxInFlight = 4096;

struct DestroyRuntime {
  const assay_runtime_table* table;
  void operator()(assay_runtime* runtime) const { table->destroy(runtime); }
};

}  // namespace

struct RuntimeBackend::State {
  State(const Library& opened, assay_runtime* made)
      : library(opened), table(*library.plugin().runtime), runtime(made, DestroyRuntime{&table}) {}

  Status describe();
  Status read_batch_size();
  Status read_traits();
  Status check_inputs(std::span<const TensorView> inputs) const;
  Status require_loaded() const {
    return loaded ? ok_status() : failed_precondition(library.name() + ": nothing is loaded");
  }
  CallContext call_context() const { return {library.name(), &signature.outputs}; }

  Library library;
  const assay_runtime_table& table;  // the plugin's, constant for the life of the process
  std::unique_ptr<assay_runtime, DestroyRuntime> runtime;
  bool loaded = false;
  bool closed = false;
  std::int64_t batch_size = 0;
  Signature signature;
  ThreadRule thread_rule = ThreadRule::kOneCall;
  bool qs_mode_supported = false;
  bool can_cancel = false;
  std::unique_ptr<InFlight> in_flight;  // null without submit
};

Status RuntimeBackend::State::describe() {
  CallError error;
  SignatureCollector collector;
  const std::int32_t code = table.describe(runtime.get(), collector.sink(), error.get());
  RETURN_IF_ERROR(error.to_status(code, library.name(), "describe"));
  Result<Signature> described = collector.take();
  if (!described.ok()) return described.status().with_context(library.name());
  signature = *std::move(described);
  return ok_status();
}

Status RuntimeBackend::State::read_batch_size() {
  CallError error;
  const std::int32_t code = table.get_loaded_batch_size(runtime.get(), &batch_size, error.get());
  RETURN_IF_ERROR(error.to_status(code, library.name(), "get_loaded_batch_size"));
  if (batch_size >= 1) return ok_status();
  return internal_error(
      fmt::format("{}: get_loaded_batch_size gave {}", library.name(), batch_size));
}

Status RuntimeBackend::State::read_traits() {
  CallError error;
  assay_runtime_traits traits{};
  traits.struct_size = sizeof traits;
  const std::int32_t code = table.get_traits(runtime.get(), &traits, error.get());
  RETURN_IF_ERROR(error.to_status(code, library.name(), "get_traits"));
  if (traits.thread_rule != ASSAY_THREADS_ONE_CALL && traits.thread_rule != ASSAY_THREADS_ANY) {
    return internal_error(
        fmt::format("{}: {} is not a thread rule", library.name(), traits.thread_rule));
  }
  thread_rule = traits.thread_rule == ASSAY_THREADS_ANY ? ThreadRule::kAny : ThreadRule::kOneCall;
  qs_mode_supported = traits.qs_mode_supported != 0 && ASSAY_HAS(&table, generate_qs_config);
  can_cancel = traits.can_cancel != 0 && ASSAY_HAS(&table, cancel);
  in_flight.reset();
  if (traits.max_in_flight > 0 && ASSAY_HAS(&table, submit)) {
    in_flight =
        std::make_unique<InFlight>(call_context(), std::min(traits.max_in_flight, kMaxInFlight));
  }
  return ok_status();
}

Status RuntimeBackend::State::check_inputs(std::span<const TensorView> inputs) const {
  if (inputs.size() != signature.inputs.size()) {
    return invalid_argument(fmt::format("{}: got {} inputs, model wants {}", library.name(),
                                        inputs.size(), signature.inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Status status = check_input(inputs[i], signature.inputs[i]);
    if (!status.ok()) return status.with_context(library.name());
  }
  return ok_status();
}

RuntimeBackend::RuntimeBackend(std::unique_ptr<State> state) : state_(std::move(state)) {}
RuntimeBackend::RuntimeBackend(RuntimeBackend&&) noexcept = default;
RuntimeBackend& RuntimeBackend::operator=(RuntimeBackend&& other) noexcept {
  if (this == &other) return *this;
  if (state_ != nullptr && !state_->closed) (void)close();
  state_ = std::move(other.state_);
  return *this;
}
RuntimeBackend::~RuntimeBackend() {
  if (state_ != nullptr && !state_->closed) (void)close();
}

Result<RuntimeBackend> RuntimeBackend::create(const Library& library) {
  CallError error;
  assay_runtime* runtime = nullptr;
  const std::int32_t code =
      library.plugin().runtime->create(&library.host(), &runtime, error.get());
  RETURN_IF_ERROR(error.to_status(code, library.name(), "create"));
  if (runtime == nullptr) {
    return internal_error(library.name() + ": create succeeded without a runtime");
  }
  return RuntimeBackend(std::make_unique<State>(library, runtime));
}

Result<std::string> RuntimeBackend::version() {
  CallError error;
  TextCollector text;
  const std::int32_t code = state_->table.version(state_->runtime.get(), text.sink(), error.get());
  RETURN_IF_ERROR(error.to_status(code, state_->library.name(), "version"));
  RETURN_IF_ERROR(text.status());
  return text.take();
}

Status RuntimeBackend::load(const LoadRequest& request) {
  State& state = *state_;
  if (state.closed) return failed_precondition(state.library.name() + ": load after close");
  if (request.batch_size < 1) {
    return invalid_argument(fmt::format("batch size {}, wanted: 1 or more", request.batch_size));
  }
  if (state.in_flight != nullptr && state.in_flight->in_progress() > 0) {
    return failed_precondition(state.library.name() + ": load while calls are on their way");
  }
  state.loaded = false;
  ASSIGN_OR_RETURN(const BoundaryDocument configs, BoundaryDocument::parse(request.configs));
  ASSIGN_OR_RETURN(const BoundaryDocument compiled,
                   BoundaryDocument::parse(request.compile_result));
  const assay_document configs_lent = configs.get();
  const assay_document compiled_lent = compiled.get();
  const assay_load_request lent{sizeof lent,
                                request.numa_node,
                                &configs_lent,
                                &compiled_lent,
                                borrowed(request.artifact_folder.native()),
                                request.batch_size,
                                request.device_ids.data(),
                                request.device_ids.size(),
                                request.cpu_set.data(),
                                request.cpu_set.size()};
  CallError error;
  const auto calling = [&](const char* method) {
    if (request.calling) request.calling(method);
  };
  calling("load");
  const std::int32_t code = state.table.load(state.runtime.get(), &lent, error.get());
  RETURN_IF_ERROR(error.to_status(code, state.library.name(), "load"));
  calling("describe");
  RETURN_IF_ERROR(state.describe());
  calling("get_loaded_batch_size");
  RETURN_IF_ERROR(state.read_batch_size());
  calling("get_traits");
  RETURN_IF_ERROR(state.read_traits());
  state.loaded = true;
  return ok_status();
}

std::int64_t RuntimeBackend::loaded_batch_size() const { return state_->batch_size; }
const Signature& RuntimeBackend::signature() const { return state_->signature; }
ThreadRule RuntimeBackend::thread_rule() const { return state_->thread_rule; }
bool RuntimeBackend::is_qs_mode_supported() const { return state_->qs_mode_supported; }
bool RuntimeBackend::has_benchmark() const { return ASSAY_HAS(&state_->table, benchmark); }
bool RuntimeBackend::can_cancel() const { return state_->can_cancel; }
assay_runtime* RuntimeBackend::handle() { return state_->runtime.get(); }
const Library& RuntimeBackend::library() const { return state_->library; }

Status RuntimeBackend::infer(std::span<const TensorView> inputs, OutputSink& outputs) {
  State& state = *state_;
  RETURN_IF_ERROR(state.require_loaded());
  RETURN_IF_ERROR(state.check_inputs(inputs));
  InlineArray<assay_tensor> tensors(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) tensors[i] = boundary_tensor(inputs[i]);
  OutputCall call(state.call_context(), outputs);
  const assay_infer_request request{sizeof request, 0, tensors.data(), inputs.size(), call.sink()};
  CallError error;
  const std::int32_t code = state.table.infer(state.runtime.get(), &request, error.get());
  return call.finish(code, error.get()->message, "infer");
}

std::uint32_t RuntimeBackend::max_in_flight() const {
  return state_->in_flight == nullptr ? 0 : state_->in_flight->capacity();
}

Result<std::uint64_t> RuntimeBackend::submit(std::span<const TensorView> inputs,
                                             OutputSink& outputs, CompletionSink& completion) {
  State& state = *state_;
  RETURN_IF_ERROR(state.require_loaded());
  if (state.in_flight == nullptr) {
    return unimplemented(state.library.name() + ": has no asynchronous calls");
  }
  RETURN_IF_ERROR(state.check_inputs(inputs));
  InlineArray<assay_tensor> tensors(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) tensors[i] = boundary_tensor(inputs[i]);
  return state.in_flight->submit(state.table, state.runtime.get(), {tensors.data(), inputs.size()},
                                 outputs, completion);
}

Status RuntimeBackend::cancel(std::uint64_t ticket) {
  State& state = *state_;
  RETURN_IF_ERROR(state.require_loaded());
  if (!state.can_cancel) return unimplemented(state.library.name() + ": cannot cancel");
  CallError error;
  const std::int32_t code = state.table.cancel(state.runtime.get(), ticket, error.get());
  return error.to_status(code, state.library.name(), "cancel");
}

Status RuntimeBackend::completions_in_order() const {
  return state_->in_flight == nullptr ? ok_status() : state_->in_flight->violation();
}

Status RuntimeBackend::recover() {
  State& state = *state_;
  RETURN_IF_ERROR(state.require_loaded());
  if (!ASSAY_HAS(&state.table, recover)) {
    return unimplemented(state.library.name() + ": cannot recover");
  }
  CallError error;
  const std::int32_t code = state.table.recover(state.runtime.get(), error.get());
  return error.to_status(code, state.library.name(), "recover");
}

Result<std::string> RuntimeBackend::generate_qs_config() {
  State& state = *state_;
  RETURN_IF_ERROR(state.require_loaded());
  if (!ASSAY_HAS(&state.table, generate_qs_config)) {
    return unimplemented(state.library.name() + ": has no QS mode");
  }
  CallError error;
  TextCollector text;
  const std::int32_t code =
      state.table.generate_qs_config(state.runtime.get(), text.sink(), error.get());
  RETURN_IF_ERROR(error.to_status(code, state.library.name(), "generate_qs_config"));
  RETURN_IF_ERROR(text.status());
  return text.take();
}

Result<std::string> RuntimeBackend::benchmark(CalibrationData& data) {
  State& state = *state_;
  RETURN_IF_ERROR(state.require_loaded());
  if (!has_benchmark()) {
    return unimplemented(state.library.name() + ": has no benchmark of its own");
  }
  const LoaderBridge loader(data);
  CallError error;
  TextCollector text;
  const std::int32_t code =
      state.table.benchmark(state.runtime.get(), loader.get(), text.sink(), error.get());
  RETURN_IF_ERROR(error.to_status(code, state.library.name(), "benchmark"));
  RETURN_IF_ERROR(text.status());
  return text.take();
}

Result<std::optional<std::string>> RuntimeBackend::facts() {
  const State& state = *state_;
  const auto* table =
      static_cast<const assay_facts*>(state.library.extension(ASSAY_EXTENSION_FACTS));
  if (table == nullptr || !ASSAY_HAS(table, collect)) return std::optional<std::string>();
  CallError error;
  TextCollector text;
  const std::int32_t code = table->collect(state.runtime.get(), text.sink(), error.get());
  RETURN_IF_ERROR(error.to_status(code, state.library.name(), "facts"));
  RETURN_IF_ERROR(text.status());
  return std::optional<std::string>(text.take());
}

Status RuntimeBackend::close() {
  State& state = *state_;
  if (std::exchange(state.closed, true)) return ok_status();
  state.loaded = false;
  CallError error;
  const std::int32_t code = state.table.close(state.runtime.get(), error.get());
  const std::uint32_t forgotten = state.in_flight == nullptr ? 0 : state.in_flight->abandon();
  RETURN_IF_ERROR(error.to_status(code, state.library.name(), "close"));
  if (forgotten == 0) return ok_status();
  return internal_error(
      fmt::format("{}: closed with {} calls not completed", state.library.name(), forgotten));
}

}  // namespace assay::host
