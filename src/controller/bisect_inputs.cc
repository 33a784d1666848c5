#include "controller/bisect_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/inference_pass.h"
#include "dataset/prefetch.h"
#include "workload/signature.h"

namespace assay::controller {
namespace {

std::int64_t batch_size_of(const Setup& setup) {
  return workload::fixed_batch(setup.plan.model, setup.plan.model_file->signature).value_or(1);
}

// A sample as often as the model takes samples at once.
Result<TensorSet> read_input(const Setup& setup, std::size_t sample) {
  const std::int64_t batch_size = batch_size_of(setup);
  const auto& axes = setup.plan.model.batch_axes;
  ASSIGN_OR_RETURN(const std::vector<TensorSpec> specs,
                   batched_specs(*setup.data, axes, batch_size));
  TensorSet tensors;
  dataset::BatchBuffers buffers;
  for (const TensorSpec& spec : specs) {
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::make(spec));
    buffers.push_back(tensors.insert_or_assign(spec.name, std::move(tensor)).first->second.bytes());
  }
  const std::vector<std::size_t> samples(static_cast<std::size_t>(batch_size), sample);
  RETURN_IF_ERROR(dataset::decode_samples(*setup.data, samples, axes, buffers));
  return tensors;
}

// By its id; a number that is no id is a place.
Result<std::size_t> find_sample(const dataset::Dataset& data, const std::string& wanted) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data.sample_id(i) == wanted) return i;
  }
  std::size_t index = 0;
  const char* const end = wanted.data() + wanted.size();
  const auto [stop, error] = std::from_chars(wanted.data(), end, index);
  if (error == std::errc() && stop == end && index < data.size()) return index;
  return not_found(
      fmt::format("--sample: found \"{}\", accepted: a sample's id, such as \"{}\", "
                  "or its number from 0 to {}",
                  wanted, data.sample_id(0), data.size() - 1));
}

ModelCalls whole_model(const Setup& setup, const BisectBackend& backend,
                       const std::vector<TensorSet>& inputs, const std::filesystem::path& folder) {
  ModelCalls calls;
  workload::Plan plan = setup.plan;
  calls.batch_size = batch_size_of(setup);
  plan.batch_sizes = {calls.batch_size};
  plan.workload.batch_sizes = plan.batch_sizes;
  calls.configs = JsonValue(workload::configs_json(plan, backend.interact_info.get())).dump();
  for (const TensorSpec& spec : setup.data->specs()) calls.inputs.push_back(spec.name);
  for (const TensorSet& tensors : inputs) calls.calls.push_back(&tensors);
  const dataset::Dataset* apart = setup.data->calibration();
  calls.calibration = apart != nullptr ? apart : setup.data.get();
  calls.calibration_disjoint = apart != nullptr;
  calls.folder = folder;
  calls.name = "bisect-whole";
  return calls;
}

double distance(const TensorSet& reference, const TensorSet& got,
                const BisectPrecision& precision) {
  double largest = 0;
  for (const auto& [name, tensor] : reference) {
    const auto found = got.find(name);
    const TensorDifference difference =
        compare_tensor(tensor, found == got.end() ? nullptr : &found->second, precision);
    if (!difference.mismatch.empty() || difference.nonfinite > 0) {
      return std::numeric_limits<double>::infinity();
    }
    const double magnitude = std::max(difference.reference_magnitude, 1e-30);
    largest = std::max(largest, difference.max_abs / magnitude);
  }
  return largest;
}

struct Furthest {
  std::size_t place = 0;
  double distance = 0;
};

Furthest furthest(const std::vector<TensorSet>& reference, const std::vector<TensorSet>& got) {
  const BisectPrecision precision = bisect_precision("");
  Furthest worst;
  for (std::size_t i = 0; i < std::min(reference.size(), got.size()); ++i) {
    const double found = distance(reference[i], got[i], precision);
    if (found > worst.distance) worst = {i, found};
  }
  return worst;
}

}  // namespace

Result<ChosenInput> choose_input(const BisectRequest& request, const Setup& setup,
                                 const BisectBackend& tested, const BisectBackend& reference,
                                 const std::filesystem::path& folder, RunObserver& observer) {
  std::vector<std::size_t> samples;
  if (request.sample) {
    ASSIGN_OR_RETURN(const std::size_t index, find_sample(*setup.data, *request.sample));
    samples.push_back(index);
  } else {
    const std::uint64_t count = std::min<std::uint64_t>(request.samples, setup.data->size());
    for (std::size_t i = 0; i < count; ++i) samples.push_back(i);
  }
  std::vector<TensorSet> inputs;
  for (const std::size_t sample : samples) {
    ASSIGN_OR_RETURN(TensorSet tensors, read_input(setup, sample));
    inputs.push_back(std::move(tensors));
  }
  ASSIGN_OR_RETURN(const ModelAnswers right,
                   run_model(reference, whole_model(setup, reference, inputs, folder), observer));
  if (!right.ok()) {
    return failed_precondition("the reference, backend CPU, does not run this model: " +
                               right.end.reason);
  }
  ASSIGN_OR_RETURN(const ModelAnswers got,
                   run_model(tested, whole_model(setup, tested, inputs, folder), observer));
  // A call that killed the backend, or failed, is the one that was not answered.
  const bool all_answered = got.outputs.size() == inputs.size();
  const Furthest worst = furthest(right.outputs, got.outputs);
  const std::size_t place =
      all_answered ? worst.place : std::min(got.outputs.size(), inputs.size() - 1);
  ChosenInput chosen;
  chosen.index = samples[place];
  chosen.id = setup.data->sample_id(chosen.index);
  chosen.how = request.sample ? "--sample"
               : !all_answered
                   ? "the first that the whole model does not answer"
                   : fmt::format("the outputs furthest from the reference's, of {} looked at",
                                 samples.size());
  chosen.tensors = std::move(inputs[place]);
  chosen.declared_precision = got.declared_precision;
  chosen.end = got.end;
  chosen.refused = got.refused();
  if (all_answered) chosen.relative_difference = worst.distance;
  return chosen;
}

}  // namespace assay::controller
