#include "trial.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "answer.h"
#include "element.h"
#include "signature.h"

namespace kserve {
namespace {

using assay::backend::DataLoader;
using assay::backend::Error;
using assay::backend::TensorSpec;

constexpr const char* kTrialId = "assay-trial";
constexpr std::size_t kTrialInputBytes = std::size_t{1} << 30;

// The inputs of the trial, with what they refer to.
class TrialInputs {
 public:
  TrialInputs(const std::vector<TensorSpec>& specs, const Json& model_info, DataLoader& data) {
    // Samples of the evaluation are left alone.
    if (data.size() > 0 && data.disjoint() && take_sample(specs, data)) return;
    shapes_.reserve(specs.size());
    zeros_.reserve(specs.size());
    for (const TensorSpec& spec : specs) add_zeros(spec, trial_shape(spec, model_info));
  }
  const std::vector<assay_tensor>& tensors() const { return tensors_; }

 private:
  bool take_sample(const std::vector<TensorSpec>& specs, DataLoader& data) {
    const assay::backend::Inputs sample = data.read(0, 1);
    if (sample.size() != specs.size()) return false;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (sample[i].name() != specs[i].name || sample[i].dtype() != specs[i].dtype) return false;
    }
    tensors_.assign(sample.data(), sample.data() + sample.size());
    return true;
  }

  void add_zeros(const TensorSpec& spec, std::vector<std::int64_t> shape) {
    std::uint64_t size = assay::backend::size_of(spec.dtype);
    for (const std::int64_t dimension : shape) {
      const bool overflow =
          __builtin_mul_overflow(size, static_cast<std::uint64_t>(dimension), &size);
      if (overflow || size > kTrialInputBytes) {
        throw Error(ASSAY_RESOURCE_EXHAUSTED, "input \"" + spec.name + "\" of shape " +
                                                  shape_text(shape) + " is too large for a trial");
      }
    }
    shapes_.push_back(std::move(shape));
    zeros_.emplace_back(size);
    assay_tensor tensor{};
    tensor.name = spec.name.c_str();
    tensor.dtype = static_cast<std::uint32_t>(spec.dtype);
    tensor.rank = static_cast<std::uint32_t>(shapes_.back().size());
    tensor.shape = shapes_.back().data();
    tensor.size_bytes = size;
    tensor.data = zeros_.back().data();
    tensors_.push_back(tensor);
  }

  std::vector<assay_tensor> tensors_;
  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<std::vector<char>> zeros_;
};

// Shapes of one call say the rank, and nothing of what is fixed.
std::vector<TensorSpec> outputs_seen(const Answer& answer) {
  std::vector<TensorSpec> outputs;
  for (const OutputAnswer& output : answer.outputs) {
    if (!output.shape) throw Error(ASSAY_DATA_LOSS, "output \"" + output.name + "\" has no shape");
    outputs.push_back({output.name, dtype_of(output.datatype, "output \"" + output.name + '"'),
                       std::vector<std::int64_t>(output.shape->size(), -1)});
  }
  if (outputs.empty()) throw Error(ASSAY_DATA_LOSS, "the server's answer has no outputs");
  return outputs;
}

void check_answer(const Answer& answer, const std::vector<TensorSpec>& outputs) {
  for (const TensorSpec& spec : outputs) (void)matching_output(answer, spec);
}

// One inference by `transport`; what it shows goes into `artifact`.
void try_transport(Connection& connection, const TrialInputs& inputs, Transport transport,
                   Artifact& artifact) {
  std::vector<TensorSpec>& outputs = artifact.signature.outputs;
  const Call call{kTrialId, inputs.tensors().data(), inputs.tensors().size(), &outputs, transport};
  const Reply reply = post_inference(connection, artifact.options, call);
  AnswerLimits limits;
  limits.values = artifact.options.max_answer_bytes() / 4;
  const Answer answer = parse_answer(reply.body, reply.header_length, limits);
  check_id(answer, kTrialId);
  std::vector<TensorSpec> seen = outputs.empty() ? outputs_seen(answer) : outputs;
  check_answer(answer, seen);
  outputs = std::move(seen);
  artifact.options.transport = transport;
  artifact.binary_answers =
      std::any_of(answer.outputs.begin(), answer.outputs.end(),
                  [](const OutputAnswer& output) { return output.binary_size.has_value(); });
}

}  // namespace

void settle_by_trial(Connection& connection, const Json& model_info, DataLoader& data,
                     Artifact& artifact) {
  const TrialInputs inputs(artifact.signature.inputs, model_info, data);
  const Transport asked = artifact.options.transport;
  std::string objection;
  if (asked != Transport::kJson) {
    try {
      try_transport(connection, inputs, Transport::kBinary, artifact);
      artifact.trial = artifact.binary_answers
                           ? "the server takes and gives tensors as bytes"
                           : "the server takes tensors as bytes and answers in JSON";
      return;
    } catch (const Error& e) {
      if (asked == Transport::kBinary) throw;
      objection = e.what();
    }
  }
  try {
    try_transport(connection, inputs, Transport::kJson, artifact);
  } catch (const Error& e) {
    if (objection.empty()) throw;
    throw Error(e.code(), std::string(e.what()) + "; and with binary tensors: " + objection);
  }
  artifact.trial = objection.empty() ? "JSON was asked for"
                                     : "the server takes no tensors as bytes (" + objection + ')';
}

}  // namespace kserve
