#include "host/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "host/adapt.h"

namespace assay::host {
namespace {

constexpr std::size_t kNoOutput = static_cast<std::size_t>(-1);

// A tensor on its way through the model: an input of it, or what a stage gives.
struct Wire {
  TensorSpec spec;                       // as its giver declares it
  std::size_t model_output = kNoOutput;  // which of the model's outputs it is
};

struct Stage {
  std::int64_t segment = 0;
  bool is_fallback = false;
  std::string version;
  RuntimeBackend runtime;
  Adaptation adaptation;             // planned on the wires that it takes
  std::vector<std::size_t> inputs;   // wires, in the order of its signature
  std::vector<std::size_t> outputs;  // likewise
};

std::string name_of(std::int64_t segment, bool is_fallback, const Library& library) {
  return fmt::format("segment {}{}", segment,
                     is_fallback ? fmt::format(" (fallback on {})", library.name()) : "");
}

std::string name_of(const Stage& stage) {
  return name_of(stage.segment, stage.is_fallback, stage.runtime.library());
}

}  // namespace

struct Pipeline::Plan {
  Status add(StageRequest request);
  Status connect(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);
  Status check_batch_sizes() const;
  std::unique_ptr<Flow> take_flow();
  void give_back(std::unique_ptr<Flow> flow);

  std::vector<Stage> stages;
  std::vector<Wire> wires;  // the model's inputs first
  Signature signature;
  ThreadRule thread_rule = ThreadRule::kAny;

  std::mutex mutex;  // guards what follows
  std::vector<std::unique_ptr<Flow>> idle;

 private:
  Status connect_inputs(Stage& stage, std::map<std::string, std::size_t>& known);
  void add_model_inputs(const std::vector<std::string>& inputs,
                        std::map<std::string, std::size_t>& known);
  Status add_model_outputs(const std::vector<std::string>& outputs,
                           const std::map<std::string, std::size_t>& known);
};

// What one call needs. Kept from call to call, so that calls alike allocate nothing.
struct Pipeline::Flow {
  // Where one stage's outputs go.
  class Sink : public OutputSink {
   public:
    Sink(Flow& flow, const Stage& stage) : flow_(&flow), stage_(&stage) {}
    Result<std::span<std::byte>> allocate(std::size_t output_index,
                                          std::span<const std::int64_t> shape,
                                          std::size_t size_bytes) override {
      return flow_->memory(stage_->outputs[output_index], shape, size_bytes);
    }

   private:
    Flow* flow_;
    const Stage* stage_;
  };

  explicit Flow(Plan& through);

  Status run(std::span<const TensorView> inputs, OutputSink& outputs);
  Status run_stage(std::size_t at);
  Result<std::span<std::byte>> memory(std::size_t wire, std::span<const std::int64_t> shape,
                                      std::size_t size_bytes);
  void set(std::size_t wire, std::span<const std::int64_t> shape, std::span<const std::byte> bytes);

  Plan* plan;
  OutputSink* outer = nullptr;
  std::vector<TensorView> values;              // by wire
  std::vector<std::optional<Tensor>> buffers;  // by wire; none until it is needed
  std::vector<Sink> sinks;                     // by stage
  std::vector<std::unique_ptr<AdaptedRuntime>> adapted;
  std::vector<std::vector<TensorView>> taken;  // by stage: its inputs, specs kept
  std::vector<std::uint64_t> calls;
  std::vector<std::int64_t> wall_ns;
};

Status Pipeline::Plan::add(StageRequest request) {
  const std::string name = name_of(request.segment, request.is_fallback, request.library);
  Result<RuntimeBackend> runtime = RuntimeBackend::create(request.library);
  if (!runtime.ok()) return runtime.status().with_context(name);
  if (Status loaded = runtime->load(request.load); !loaded.ok()) return loaded.with_context(name);
  const Result<std::string> version = runtime->version();
  if (!version.ok()) return version.status().with_context(name);
  if (runtime->thread_rule() == ThreadRule::kOneCall) thread_rule = ThreadRule::kOneCall;
  stages.push_back(
      {request.segment, request.is_fallback, *version, *std::move(runtime), {}, {}, {}});
  return ok_status();
}

Status Pipeline::Plan::check_batch_sizes() const {
  const Stage& first = stages.front();
  for (const Stage& stage : stages) {
    if (stage.runtime.loaded_batch_size() == first.runtime.loaded_batch_size()) continue;
    return internal_error(fmt::format("{} has loaded batches of {}, {} batches of {}",
                                      name_of(first), first.runtime.loaded_batch_size(),
                                      name_of(stage), stage.runtime.loaded_batch_size()));
  }
  return ok_status();
}

// The model's inputs are declared by the first stage that takes them.
void Pipeline::Plan::add_model_inputs(const std::vector<std::string>& inputs,
                                      std::map<std::string, std::size_t>& known) {
  for (const std::string& name : inputs) {
    for (const Stage& stage : stages) {
      const auto& taken = stage.runtime.signature().inputs;
      const auto found = std::ranges::find(taken, name, &TensorSpec::name);
      if (found == taken.end()) continue;
      known[name] = wires.size();
      wires.push_back({*found});
      signature.inputs.push_back(*found);
      break;
    }
  }
}

Status Pipeline::Plan::connect_inputs(Stage& stage, std::map<std::string, std::size_t>& known) {
  std::vector<TensorSpec> given;
  for (const TensorSpec& input : stage.runtime.signature().inputs) {
    const auto wire = known.find(input.name);
    if (wire == known.end()) {
      return internal_error(
          fmt::format("{} takes {}, which neither the model nor a segment before it gives",
                      name_of(stage), to_string(input)));
    }
    stage.inputs.push_back(wire->second);
    given.push_back(wires[wire->second].spec);
  }
  Result<Adaptation> adaptation = plan_adaptation(given, stage.runtime.signature(),
                                                  AdaptPolicy::kLossless, /*float_outputs=*/false);
  if (!adaptation.ok()) {
    return internal_error(fmt::format("what goes into {} does not fit: {}", name_of(stage),
                                      adaptation.status().message()));
  }
  stage.adaptation = *std::move(adaptation);
  return ok_status();
}

Status Pipeline::Plan::add_model_outputs(const std::vector<std::string>& outputs,
                                         const std::map<std::string, std::size_t>& known) {
  for (const std::string& name : outputs) {
    const auto wire = known.find(name);
    if (wire == known.end() || wire->second < signature.inputs.size()) {
      return internal_error(
          fmt::format("no segment that was loaded gives the model's output \"{}\"", name));
    }
    wires[wire->second].model_output = signature.outputs.size();
    signature.outputs.push_back(wires[wire->second].spec);
  }
  return ok_status();
}

Status Pipeline::Plan::connect(const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs) {
  std::map<std::string, std::size_t> known;
  add_model_inputs(inputs, known);
  for (Stage& stage : stages) {
    RETURN_IF_ERROR(connect_inputs(stage, known));
    for (const TensorSpec& output : stage.runtime.signature().outputs) {
      const auto [wire, is_new] = known.try_emplace(output.name, wires.size());
      if (!is_new) {
        return internal_error(
            fmt::format("{} gives \"{}\", which is there already", name_of(stage), output.name));
      }
      stage.outputs.push_back(wires.size());
      wires.push_back({output});
    }
  }
  return add_model_outputs(outputs, known);
}

Pipeline::Flow::Flow(Plan& through)
    : plan(&through),
      buffers(through.wires.size()),
      adapted(through.stages.size()),
      calls(through.stages.size()),
      wall_ns(through.stages.size()) {
  for (const Wire& wire : plan->wires) values.push_back({wire.spec, {}});
  for (std::size_t i = 0; i < plan->stages.size(); ++i) {
    Stage& stage = plan->stages[i];
    sinks.emplace_back(*this, stage);
    if (stage.adaptation.converts()) {
      adapted[i] = std::make_unique<AdaptedRuntime>(stage.runtime, stage.adaptation);
    }
    auto& views = taken.emplace_back();
    for (const std::size_t wire : stage.inputs) views.push_back({plan->wires[wire].spec, {}});
  }
}

void Pipeline::Flow::set(std::size_t wire, std::span<const std::int64_t> shape,
                         std::span<const std::byte> bytes) {
  TensorView& value = values[wire];
  if (!std::ranges::equal(value.spec.shape, shape)) {
    value.spec.shape.assign(shape.begin(), shape.end());
  }
  value.bytes = bytes;
}

Result<std::span<std::byte>> Pipeline::Flow::memory(std::size_t wire,
                                                    std::span<const std::int64_t> shape,
                                                    std::size_t size_bytes) {
  std::span<std::byte> room;
  if (const std::size_t output = plan->wires[wire].model_output; output != kNoOutput) {
    ASSIGN_OR_RETURN(room, outer->allocate(output, shape, size_bytes));
  } else {
    std::optional<Tensor>& buffer = buffers[wire];
    if (!buffer || buffer->bytes().size() < size_bytes) {
      ASSIGN_OR_RETURN(buffer,
                       Tensor::make({"", DType::kUInt8, {static_cast<std::int64_t>(size_bytes)}}));
    }
    room = buffer->bytes();
  }
  // A sink that gives too little is told so by the call that asked.
  set(wire, shape, room.first(std::min(size_bytes, room.size())));
  return room;
}

Status Pipeline::Flow::run_stage(std::size_t at) {
  Stage& stage = plan->stages[at];
  for (std::size_t k = 0; k < stage.inputs.size(); ++k) {
    const TensorView& value = values[stage.inputs[k]];
    TensorView& input = taken[at][k];
    if (input.spec.shape != value.spec.shape) input.spec.shape = value.spec.shape;
    input.bytes = value.bytes;
  }
  return adapted[at] != nullptr ? adapted[at]->infer(taken[at], sinks[at])
                                : stage.runtime.infer(taken[at], sinks[at]);
}

Status Pipeline::Flow::run(std::span<const TensorView> inputs, OutputSink& outputs) {
  outer = &outputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) set(i, inputs[i].spec.shape, inputs[i].bytes);
  std::int64_t begin_ns = now_ns();
  for (std::size_t i = 0; i < plan->stages.size(); ++i) {
    if (Status status = run_stage(i); !status.ok()) {
      return status.with_context(name_of(plan->stages[i]));
    }
    const std::int64_t end_ns = now_ns();
    wall_ns[i] += end_ns - std::exchange(begin_ns, end_ns);
    ++calls[i];
  }
  return ok_status();
}

std::unique_ptr<Pipeline::Flow> Pipeline::Plan::take_flow() {
  {
    const std::scoped_lock lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<Flow> flow = std::move(idle.back());
      idle.pop_back();
      return flow;
    }
  }
  return std::make_unique<Flow>(*this);
}

void Pipeline::Plan::give_back(std::unique_ptr<Flow> flow) {
  const std::scoped_lock lock(mutex);
  idle.push_back(std::move(flow));
}

Pipeline::Pipeline(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
Pipeline::~Pipeline() = default;

Result<std::unique_ptr<Pipeline>> Pipeline::load(std::vector<StageRequest> stages,
                                                 const std::vector<std::string>& inputs,
                                                 const std::vector<std::string>& outputs) {
  if (stages.empty()) return invalid_argument("a pipeline of no segments");
  auto plan = std::make_unique<Plan>();
  for (StageRequest& stage : stages) RETURN_IF_ERROR(plan->add(std::move(stage)));
  RETURN_IF_ERROR(plan->check_batch_sizes());
  RETURN_IF_ERROR(plan->connect(inputs, outputs));
  return std::unique_ptr<Pipeline>(new Pipeline(std::move(plan)));
}

std::int64_t Pipeline::loaded_batch_size() const {
  return plan_->stages.front().runtime.loaded_batch_size();
}
const Signature& Pipeline::signature() const { return plan_->signature; }
ThreadRule Pipeline::thread_rule() const { return plan_->thread_rule; }

Status Pipeline::infer(std::span<const TensorView> inputs, OutputSink& outputs) {
  if (inputs.size() != plan_->signature.inputs.size()) {
    return invalid_argument(fmt::format("got {} inputs, model wants {}", inputs.size(),
                                        plan_->signature.inputs.size()));
  }
  std::unique_ptr<Flow> flow = plan_->take_flow();
  Status status = flow->run(inputs, outputs);
  plan_->give_back(std::move(flow));
  return status;
}

std::vector<StageUse> Pipeline::use() const {
  std::vector<StageUse> used;
  const std::scoped_lock lock(plan_->mutex);
  for (std::size_t i = 0; i < plan_->stages.size(); ++i) {
    const Stage& stage = plan_->stages[i];
    StageUse use{stage.segment, stage.is_fallback, stage.version, 0, 0};
    for (const std::unique_ptr<Flow>& flow : plan_->idle) {
      use.calls += flow->calls[i];
      use.wall_ns += flow->wall_ns[i];
    }
    used.push_back(std::move(use));
  }
  return used;
}

Status Pipeline::close() {
  Status first;
  for (auto stage = plan_->stages.rbegin(); stage != plan_->stages.rend(); ++stage) {
    Status status = stage->runtime.close();
    if (!status.ok() && first.ok()) first = status.with_context(name_of(*stage));
  }
  return first;
}

}  // namespace assay::host
