#include "host/adapt.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "tensor/convert.h"

namespace assay::host {
namespace {

// Could a concrete or free dimension of one be the other's?
bool could_agree(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](std::int64_t x, std::int64_t y) { return x == y || x == -1 || y == -1; });
}

Result<TensorRule> input_rule(const std::vector<TensorSpec>& caller, const TensorSpec& wanted,
                              AdaptPolicy policy) {
  const auto found = std::find_if(caller.begin(), caller.end(),
                                  [&](const TensorSpec& spec) { return spec.name == wanted.name; });
  if (found == caller.end()) {
    return invalid_argument(
        fmt::format("input: model wants {}, the caller has no such tensor", to_string(wanted)));
  }
  const std::string sides =
      fmt::format("input: got {}, model wants {}", to_string(*found), to_string(wanted));
  if (!could_agree(found->shape, wanted.shape)) return invalid_argument(sides);
  const Result<Loss> loss = conversion_loss(found->dtype, wanted.dtype);
  if (!loss.ok()) return invalid_argument(sides + ": no conversion is defined");
  const bool lossy = *loss != Loss::kNone;
  if (lossy && policy == AdaptPolicy::kLossless) {
    return invalid_argument(sides + ": converting would lose values, and that was not asked for");
  }
  return TensorRule{wanted.name, static_cast<std::size_t>(found - caller.begin()), found->dtype,
                    wanted.dtype, lossy};
}

TensorRule output_rule(const TensorSpec& given, std::size_t index, bool float_outputs) {
  const bool widen =
      float_outputs && (given.dtype == DType::kFloat16 || given.dtype == DType::kBFloat16);
  return {given.name, index, given.dtype, widen ? DType::kFloat32 : given.dtype, false};
}

// One line for each of the caller's tensors that the model has no input for.
void add_surplus(const std::vector<TensorSpec>& caller, const Signature& model,
                 std::vector<std::string>& problems) {
  for (const TensorSpec& spec : caller) {
    const bool wanted =
        std::any_of(model.inputs.begin(), model.inputs.end(),
                    [&](const TensorSpec& input) { return input.name == spec.name; });
    if (!wanted) {
      problems.push_back(
          fmt::format("input: got {}, the model has no such input", to_string(spec)));
    }
  }
}

}  // namespace

bool Adaptation::converts() const {
  const auto any = [](const std::vector<TensorRule>& rules) {
    return std::any_of(rules.begin(), rules.end(),
                       [](const TensorRule& rule) { return rule.converts(); });
  };
  return any(inputs) || any(outputs);
}

std::vector<TensorSpec> in_loaded_batches(std::vector<TensorSpec> caller, const Signature& model,
                                          std::int64_t asked, std::int64_t loaded) {
  for (const TensorSpec& wanted : model.inputs) {
    const auto found = std::find_if(caller.begin(), caller.end(), [&](const TensorSpec& spec) {
      return spec.name == wanted.name && spec.shape.size() == wanted.shape.size();
    });
    if (found == caller.end()) continue;
    for (std::size_t axis = 0; axis < wanted.shape.size(); ++axis) {
      std::int64_t& size = found->shape[axis];
      if (size > 0 && size * loaded == wanted.shape[axis] * asked) size = wanted.shape[axis];
    }
  }
  return caller;
}

Result<Adaptation> plan_adaptation(const std::vector<TensorSpec>& caller, const Signature& model,
                                   AdaptPolicy policy, bool float_outputs) {
  Adaptation adaptation;
  std::vector<std::string> problems;
  for (const TensorSpec& wanted : model.inputs) {
    Result<TensorRule> rule = input_rule(caller, wanted, policy);
    if (rule.ok()) {
      adaptation.inputs.push_back(*std::move(rule));
    } else {
      problems.push_back(rule.status().message());
    }
  }
  add_surplus(caller, model, problems);
  if (!problems.empty()) return invalid_argument(fmt::format("{}", fmt::join(problems, "\n")));
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    adaptation.outputs.push_back(output_rule(model.outputs[i], i, float_outputs));
  }
  return adaptation;
}

namespace {

// Adds the time until its end to `total_ns`.
class StopWatch {
 public:
  explicit StopWatch(std::uint64_t& total_ns) : total_ns_(total_ns), start_ns_(now_ns()) {}
  ~StopWatch() { total_ns_ += static_cast<std::uint64_t>(now_ns() - start_ns_); }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

 private:
  std::uint64_t& total_ns_;  // NOLINT: lives within one function
  std::int64_t start_ns_;
};

// Makes `scratch` a tensor of this spec; its memory is kept when it already is one. Nothing is
// allocated then: a loop that is timed comes here.
Status fit(std::optional<Tensor>& scratch, const std::string& name, DType dtype,
           std::span<const std::int64_t> shape) {
  if (scratch && std::equal(shape.begin(), shape.end(), scratch->spec().shape.begin(),
                            scratch->spec().shape.end())) {
    return ok_status();
  }
  ASSIGN_OR_RETURN(Tensor made, Tensor::make({name, dtype, Shape(shape.begin(), shape.end())}));
  scratch.emplace(std::move(made));
  return ok_status();
}

Status convert_named(const TensorRule& rule, const char* kind, std::span<const std::byte> from,
                     std::span<std::byte> to) {
  const Status status = convert(rule.from, from, rule.to, to);
  return status.ok() ? status : status.with_context(fmt::format("{} \"{}\"", kind, rule.name));
}

// Gives the caller's memory for outputs that stay, scratch for those that are converted afterwards.
class WideningSink : public OutputSink {
 public:
  WideningSink(const std::vector<TensorRule>& rules, std::vector<std::optional<Tensor>>& scratch)
      : rules_(rules), scratch_(scratch), used_(rules.size(), false) {}

  void start(OutputSink& outer) {
    outer_ = &outer;
    used_.assign(used_.size(), false);
  }

  Result<std::span<std::byte>> allocate(std::size_t index, std::span<const std::int64_t> shape,
                                        std::size_t size_bytes) override {
    const TensorRule& rule = rules_[index];
    if (!rule.converts()) return outer_->allocate(index, shape, size_bytes);
    RETURN_IF_ERROR(fit(scratch_[index], rule.name, rule.from, shape));
    used_[index] = true;
    return scratch_[index]->bytes();
  }

  // Converts what lies in scratch into the caller's memory. Returns how many.
  Result<std::uint64_t> deliver() {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (!used_[i]) continue;
      const Tensor& from = *scratch_[i];
      const std::size_t size_bytes =
          from.bytes().size() / size_of(rules_[i].from) * size_of(rules_[i].to);
      ASSIGN_OR_RETURN(const std::span<std::byte> to,
                       outer_->allocate(i, from.spec().shape, size_bytes));
      RETURN_IF_ERROR(convert_named(rules_[i], "output", from.bytes(), to));
      ++count;
    }
    return count;
  }

 private:
  const std::vector<TensorRule>& rules_;         // NOLINT: both are members of the one State
  std::vector<std::optional<Tensor>>& scratch_;  // NOLINT
  std::vector<bool> used_;
  OutputSink* outer_ = nullptr;
};

}  // namespace

struct AdaptedRuntime::State {
  State(Runtime& seen, Adaptation planned)
      : runtime(&seen),
        adaptation(std::move(planned)),
        input_scratch(adaptation.inputs.size()),
        output_scratch(adaptation.outputs.size()),
        sink(adaptation.outputs, output_scratch),
        output_specs(seen.signature().outputs) {
    for (std::size_t i = 0; i < output_specs.size(); ++i) {
      output_specs[i].dtype = adaptation.outputs[i].to;
    }
    adapted.resize(adaptation.inputs.size());
  }

  Result<const TensorView*> make_room(std::size_t i, std::span<const TensorView> inputs);
  Status adapt(std::span<const TensorView> inputs);

  Runtime* runtime;
  Adaptation adaptation;
  std::vector<std::optional<Tensor>> input_scratch;
  std::vector<std::optional<Tensor>> output_scratch;
  WideningSink sink;
  std::vector<TensorSpec> output_specs;
  std::vector<TensorView> adapted;
  ConversionCounts counts;
};

// The caller's tensor for input `i`, with room for it in the model's dtype. Specs are copied and
// room is made only when they change, so that calls alike allocate nothing.
Result<const TensorView*> AdaptedRuntime::State::make_room(std::size_t i,
                                                           std::span<const TensorView> inputs) {
  const TensorRule& rule = adaptation.inputs[i];
  if (rule.source >= inputs.size() || inputs[rule.source].spec.name != rule.name ||
      inputs[rule.source].spec.dtype != rule.from) {
    return invalid_argument(fmt::format("input {}: wanted \"{}\" {}, as was planned", rule.source,
                                        rule.name, name_of(rule.from)));
  }
  const TensorView& from = inputs[rule.source];
  if (rule.converts()) {
    RETURN_IF_ERROR(fit(input_scratch[i], rule.name, rule.to, from.spec.shape));
  }
  const TensorSpec& spec = rule.converts() ? input_scratch[i]->spec() : from.spec;
  if (adapted[i].spec != spec) adapted[i].spec = spec;
  return &from;
}

// Fills `adapted` with the inputs in the model's order and dtypes.
Status AdaptedRuntime::State::adapt(std::span<const TensorView> inputs) {
  for (std::size_t i = 0; i < adaptation.inputs.size(); ++i) {
    const TensorRule& rule = adaptation.inputs[i];
    ASSIGN_OR_RETURN(const TensorView* const from, make_room(i, inputs));
    if (!rule.converts()) {
      adapted[i].bytes = from->bytes;
      continue;
    }
    const StopWatch watch(counts.input_ns);
    const std::span<std::byte> to = input_scratch[i]->bytes();
    RETURN_IF_ERROR(convert_named(rule, "input", from->bytes, to));
    adapted[i].bytes = to;
    ++counts.tensors;
  }
  return ok_status();
}

Status AdaptedRuntime::prepare(std::span<const TensorView> inputs) {
  for (std::size_t i = 0; i < state_->adaptation.inputs.size(); ++i) {
    RETURN_IF_ERROR(state_->make_room(i, inputs).status());
  }
  return ok_status();
}

AdaptedRuntime::AdaptedRuntime(Runtime& runtime, Adaptation adaptation)
    : state_(std::make_unique<State>(runtime, std::move(adaptation))) {}
AdaptedRuntime::~AdaptedRuntime() = default;

Result<std::span<const TensorView>> AdaptedRuntime::adapt_inputs(
    std::span<const TensorView> inputs) {
  RETURN_IF_ERROR(state_->adapt(inputs));
  return std::span<const TensorView>(state_->adapted);
}

Status AdaptedRuntime::infer(std::span<const TensorView> inputs, OutputSink& outputs) {
  State& state = *state_;
  ++state.counts.calls;
  RETURN_IF_ERROR(state.adapt(inputs));
  state.sink.start(outputs);
  RETURN_IF_ERROR(state.runtime->infer(state.adapted, state.sink));
  const StopWatch watch(state.counts.output_ns);
  ASSIGN_OR_RETURN(const std::uint64_t converted, state.sink.deliver());
  state.counts.tensors += converted;
  return ok_status();
}

const std::vector<TensorSpec>& AdaptedRuntime::output_specs() const { return state_->output_specs; }
const ConversionCounts& AdaptedRuntime::counts() const { return state_->counts; }

}  // namespace assay::host
