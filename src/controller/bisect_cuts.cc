#include "controller/bisect_cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "model/onnx_rounding.h"
#include "tensor/convert.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kNoiseCopies = 3;

// A calibration set of the one sample that a range is run on: nothing else is known of it.
class OneSample : public dataset::Dataset {
 public:
  OneSample(std::vector<TensorSpec> specs, const TensorSet& tensors)
      : Dataset({.name = "inputs of the cut",
                 .size = 1,
                 .inputs = std::move(specs),
                 .fingerprint = std::string(64, '0')}),
        tensors_(&tensors) {}
  std::string sample_id(std::size_t /*index*/) const override { return "0"; }

 private:
  Status read_sample(std::size_t /*index*/,
                     std::span<const std::span<std::byte>> into) const override {
    for (std::size_t k = 0; k < into.size(); ++k) {
      std::ranges::copy(tensors_->at(specs()[k].name).bytes(), into[k].begin());
    }
    return ok_status();
  }
  Result<dataset::Label> read_label(std::size_t /*index*/) const override {
    return dataset::Label();
  }

  const TensorSet* tensors_;
};

// What crosses the boundary in FLOAT32 goes back to the type that the model has.
Result<Tensor> in_dtype(const Tensor& tensor, DType dtype) {
  if (tensor.spec().dtype == dtype) return copy_of(tensor);
  ASSIGN_OR_RETURN(Tensor made, Tensor::make({tensor.spec().name, dtype, tensor.spec().shape}));
  RETURN_IF_ERROR(convert(tensor.spec().dtype, tensor.bytes(), dtype, made.bytes()));
  return made;
}

}  // namespace

const TensorDifference* CutSeen::worst() const {
  const auto found = std::ranges::max_element(
      tensors, [](const auto& a, const auto& b) { return a.excess() < b.excess(); });
  return found == tensors.end() ? nullptr : &*found;
}

BisectCuts::BisectCuts(BisectSetup setup, TensorSet inputs)
    : setup_(std::move(setup)), inputs_(std::move(inputs)) {
  for (const TensorSpec& input : setup_.plan->model_file->signature.inputs) {
    const auto found = inputs_.find(input.name);
    if (found == inputs_.end()) continue;
    known_[input.name] = {input.name, input.dtype, found->second.spec().shape};
  }
}

Result<CutSeen> BisectCuts::look(std::int64_t first, std::int64_t last, const TensorSet& inputs) {
  CutSeen seen;
  seen.first = first;
  seen.last = last;
  seen.model = setup_.folder / "cut.onnx";
  ASSIGN_OR_RETURN(seen.inputs, copy_of(inputs));
  RETURN_IF_ERROR(write(seen));
  if (!seen.why.empty()) return seen;
  RETURN_IF_ERROR(run_reference(seen));
  if (!seen.why.empty()) return seen;
  RETURN_IF_ERROR(write(seen));  // again, now that the shapes of its outputs are known
  RETURN_IF_ERROR(run_tested(seen));
  if (seen.why.empty()) {
    compare(seen);
    RETURN_IF_ERROR(widen(seen));
    const TensorDifference* worst = seen.worst();
    const bool deviates = worst != nullptr && worst->deviates();
    seen.outcome = deviates ? CutOutcome::kDeviates : CutOutcome::kWithin;
  }
  return seen;
}

// A cut that cannot be written is unusable and says why; `seen.inputs` become those it takes.
Status BisectCuts::write(CutSeen& seen) {
  const Result<CutModel> cut = write_cut(setup_.model, seen.first, seen.last, seen.model, known_);
  if (!cut.ok()) {
    const StatusCode code = cut.status().code();
    if (code != StatusCode::kFailedPrecondition && code != StatusCode::kInvalidArgument) {
      return cut.status();
    }
    seen.why = cut.status().message();
    return ok_status();
  }
  TensorSet taken;
  for (const TensorSpec& input : cut->signature.inputs) {
    const auto found = seen.inputs.find(input.name);
    if (found == seen.inputs.end()) {
      return internal_error(fmt::format("nothing is known of input \"{}\" of the cut", input.name));
    }
    ASSIGN_OR_RETURN(Tensor tensor, in_dtype(found->second, input.dtype));
    taken.emplace(input.name, std::move(tensor));
  }
  seen.inputs = std::move(taken);
  seen.declared = cut->signature.outputs;
  return ok_status();
}

Status BisectCuts::run_reference(CutSeen& seen) {
  ASSIGN_OR_RETURN(ModelAnswers answers,
                   run(setup_.reference, seen.model, seen.inputs, "bisect-reference"));
  ++counts_.reference_compilations;
  if (!answers.ok() || answers.outputs.empty()) {
    seen.why = "the reference does not run it: " + answers.end.reason;
    return ok_status();
  }
  seen.reference = std::move(answers.outputs.front());
  for (const TensorSpec& output : seen.declared) {
    const auto found = seen.reference.find(output.name);
    if (found == seen.reference.end()) continue;
    known_[output.name] = {output.name, output.dtype, found->second.spec().shape};
  }
  return ok_status();
}

Status BisectCuts::run_tested(CutSeen& seen) {
  ASSIGN_OR_RETURN(ModelAnswers answers,
                   run(setup_.tested, seen.model, seen.inputs, "bisect-tested"));
  ++counts_.tested_compilations;
  seen.end = answers.end;
  if (!answers.outputs.empty()) {  // how it leaves afterwards is no matter of the cut
    seen.got = std::move(answers.outputs.front());
    seen.end = {};
  } else if (answers.refused()) {
    ++counts_.refused;
    seen.why = "the backend does not compile it: " + answers.end.reason;
  } else {
    seen.outcome = CutOutcome::kDeviates;
    seen.why = fmt::format("{}: {}", worker::name_of(answers.end.outcome), answers.end.reason);
  }
  return ok_status();
}

void BisectCuts::compare(CutSeen& seen) const {
  for (const auto& [name, reference] : seen.reference) {
    const auto got = seen.got.find(name);
    seen.tensors.push_back(compare_tensor(reference, got == seen.got.end() ? nullptr : &got->second,
                                          setup_.precision));
  }
}

// Where a difference is beyond the floor, the tolerance is what healthy variants of the cut show.
Status BisectCuts::widen(CutSeen& seen) {
  const TensorDifference* worst = seen.worst();
  if (worst == nullptr || !worst->deviates()) return ok_status();
  const fs::path copy = setup_.folder / "variant.onnx";
  const BisectPrecision& precision = setup_.precision;
  for (std::uint64_t seed = setup_.seed; seed < setup_.seed + kNoiseCopies; ++seed) {
    const std::string name = fmt::format("rounding in {}, seed {}", precision.name, seed);
    const Result<RoundingCopy> made = write_with_rounding_noise(
        seen.model, copy,
        {.unit = precision.unit, .seed = seed, .scope = precision.scope, .weights = true});
    if (!made.ok()) {  // an opset that is too old, say: the others and the floor hold alone
      seen.variants_failed.push_back(name + ": " + made.status().message());
      continue;
    }
    ASSIGN_OR_RETURN(const TensorSet moved, moved_inputs(seen.inputs, precision, seed));
    RETURN_IF_ERROR(add_variant(seen, name, copy, moved, setup_.reference.interact_info));
  }
  if (!setup_.plan->model.is_quantized) {
    RETURN_IF_ERROR(
        add_variant(seen, "optimised graph", seen.model, seen.inputs, setup_.reference_optimized));
  }
  std::error_code ignored;
  fs::remove(copy, ignored);
  return ok_status();
}

Status BisectCuts::add_variant(CutSeen& seen, const std::string& name, const fs::path& model,
                               const TensorSet& inputs, const JsonValue& interact_info) {
  BisectBackend backend = setup_.reference;
  backend.interact_info = interact_info;
  ASSIGN_OR_RETURN(const ModelAnswers answers, run(backend, model, inputs, "bisect-variant"));
  ++counts_.reference_compilations;
  if (!answers.ok() || answers.outputs.empty()) {
    seen.variants_failed.push_back(name + ": " + answers.end.reason);
    return ok_status();
  }
  seen.variants.push_back(name);
  for (TensorDifference& difference : seen.tensors) {
    const auto variant = answers.outputs.front().find(difference.tensor);
    if (variant == answers.outputs.front().end()) continue;
    difference.noise =
        std::max(difference.noise,
                 largest_difference(seen.reference.at(difference.tensor), variant->second));
    difference.tolerance = std::max(difference.floor, kToleranceAllowance * difference.noise);
  }
  return ok_status();
}

Result<ModelAnswers> BisectCuts::run(const BisectBackend& backend, const fs::path& model,
                                     const TensorSet& inputs, const std::string& name) {
  ModelCalls calls;
  calls.model = model;
  calls.calls = {&inputs};
  calls.folder = setup_.folder;
  calls.name = name;
  RETURN_IF_ERROR(describe_model(*setup_.plan, backend.interact_info, calls));
  std::vector<TensorSpec> specs;
  bool only_inputs = true;
  for (const std::string& input : calls.inputs) {
    specs.push_back(inputs.at(input).spec());
    only_inputs = only_inputs && inputs_.contains(input);
  }
  const OneSample own(std::move(specs), inputs);
  const bool real =
      only_inputs && calls.inputs.size() == inputs_.size() && setup_.calibration != nullptr;
  calls.calibration = real ? setup_.calibration : &own;
  calls.calibration_disjoint = real && setup_.calibration_disjoint;
  return run_model(backend, calls, *setup_.observer);
}

Result<TensorSet> BisectCuts::right_inputs(std::int64_t before) {
  ASSIGN_OR_RETURN(TensorSet right, copy_of(inputs_));
  if (before < 0) return right;
  CutSeen seen;
  seen.last = before;
  seen.model = setup_.folder / "before.onnx";
  ASSIGN_OR_RETURN(seen.inputs, copy_of(inputs_));
  RETURN_IF_ERROR(write(seen));
  if (seen.why.empty()) RETURN_IF_ERROR(run_reference(seen));
  std::error_code ignored;
  fs::remove(seen.model, ignored);
  if (!seen.why.empty()) {
    return failed_precondition(fmt::format("operators 0..{}: {}", before, seen.why));
  }
  for (auto& [name, tensor] : seen.reference) right.insert_or_assign(name, std::move(tensor));
  return right;
}

}  // namespace assay::controller
