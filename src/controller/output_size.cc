#include "controller/output_size.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "controller/inference_pass.h"
#include "controller/output_room.h"
#include "controller/typed_object.h"
#include "dataset/prefetch.h"

namespace assay::controller {
namespace {

constexpr std::chrono::seconds kInferTimeout{300};
constexpr std::size_t kRoomFactor = 2;  // for samples whose outputs are larger than the first ones'

// True when the sizes cannot be told from the batch alone.
bool leaves_sizes_open(const std::vector<TensorSpec>& outputs) {
  return std::any_of(outputs.begin(), outputs.end(), [](const TensorSpec& spec) {
    return spec.shape.empty() || std::any_of(spec.shape.begin() + 1, spec.shape.end(),
                                             [](std::int64_t dimension) { return dimension < 0; });
  });
}

Status fill_slot(Session& session, const OutputSizeRequest& request, std::int64_t batch_size) {
  dataset::PrefetchOptions options;
  options.batch_size = static_cast<std::size_t>(batch_size);
  options.batch_axes = request.batch_axes;
  options.count = static_cast<std::size_t>(
      std::min<std::uint64_t>(request.samples, static_cast<std::uint64_t>(batch_size)));
  ASSIGN_OR_RETURN(const std::unique_ptr<dataset::BatchSource> source,
                   dataset::BatchSource::start(
                       *request.dataset, slot_buffers(session.layout(), session.arena()), options));
  return source->next().status();
}

}  // namespace

Result<std::size_t> find_output_bytes(Session& session, const OutputSizeRequest& request) {
  ASSIGN_OR_RETURN(std::vector<TensorSpec> inputs,
                   batched_specs(*request.dataset, request.batch_axes, request.batch_size));
  ASSIGN_OR_RETURN(const LoadedModel loaded,
                   session.load(request.model, request.batch_size, inputs));
  const std::size_t guess = worker::guess_output_bytes(loaded.outputs, loaded.batch_size);
  if (!leaves_sizes_open(loaded.outputs)) return guess;
  ASSIGN_OR_RETURN(inputs, batched_specs(*request.dataset, request.batch_axes, loaded.batch_size));
  const auto attempt = [&](std::size_t bytes) -> Result<std::uint64_t> {
    RETURN_IF_ERROR(session.share_arena({.inputs = inputs,
                                         .outputs = loaded.outputs,
                                         .input_slots = 1,
                                         .output_slots = 1,
                                         .output_capacity_bytes = bytes}));
    RETURN_IF_ERROR(fill_slot(session, request, loaded.batch_size));
    ASSIGN_OR_RETURN(const Json answer, session.call("infer", Json{{"slot", 0}}, kInferTimeout));
    return missing_output_bytes(TypedObject(answer, "the worker's answer to infer"));
  };
  ASSIGN_OR_RETURN(const std::size_t capacity, grow_output_room(guess, attempt));
  return capacity * kRoomFactor;
}

}  // namespace assay::controller
