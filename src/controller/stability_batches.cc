#include "controller/stability_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/batch_splitter.h"
#include "controller/inference_pass.h"
#include "controller/output_room.h"
#include "controller/typed_object.h"
#include "dataset/prefetch.h"
#include "worker/output_slots.h"

namespace assay::controller {
namespace {

constexpr std::chrono::seconds kRecordTimeout{600};

// Where a sample's outputs are in known batches.
struct Place {
  std::size_t slot = 0;
  std::size_t row = 0;
};

std::map<std::size_t, Place> places_of(const Arrangement& samples) {
  std::map<std::size_t, Place> places;
  for (std::size_t slot = 0; slot < samples.size(); ++slot) {
    for (std::size_t row = 0; row < samples[slot].size(); ++row) {
      places.emplace(samples[slot][row], Place{slot, row});
    }
  }
  return places;
}

Status check_rows(const TensorView& output, std::int64_t batch_size) {
  if (!output.spec.shape.empty() && output.spec.shape[0] == batch_size) return ok_status();
  return failed_precondition(fmt::format("output {} has no row for each of {} samples",
                                         to_string(output.spec), batch_size));
}

// One sample's part of an output, of the size that it has in the first batch.
Result<std::span<const std::byte>> known_row(const TensorView& output, const TensorView& first,
                                             std::int64_t batch_size, std::size_t row) {
  RETURN_IF_ERROR(check_rows(output, batch_size));
  if (output.bytes.size() == first.bytes.size()) return row_of(output, batch_size, row);
  return failed_precondition(
      fmt::format("outputs change their shape from batch to batch: first {}, now {}",
                  to_string(first.spec), to_string(output.spec)));
}

Status assemble_slot(const KnownBatches& known, const std::map<std::size_t, Place>& places,
                     const std::vector<std::vector<TensorView>>& outputs, KnownBatches& batches,
                     std::size_t slot) {
  const worker::ArenaLayout layout = batches.layout(0);
  worker::SlotSink sink(layout.outputs.size());
  const std::size_t slot_bytes = worker::output_slot_bytes(layout);
  sink.aim(std::span(batches.expected_bytes).subspan(slot * slot_bytes, slot_bytes));
  for (std::size_t k = 0; k < layout.outputs.size(); ++k) {
    const TensorView& first = outputs[0][k];
    RETURN_IF_ERROR(check_rows(first, known.batch_size));
    Shape shape = first.spec.shape;
    shape[0] = batches.batch_size;
    const std::size_t row_bytes = row_of(first, known.batch_size, 0).size();
    ASSIGN_OR_RETURN(const std::span<std::byte> into,
                     sink.allocate(k, shape, row_bytes * batches.samples[slot].size()));
    for (std::size_t row = 0; row < batches.samples[slot].size(); ++row) {
      const auto place = places.find(batches.samples[slot][row]);
      if (place == places.end()) {
        return internal_error(
            fmt::format("no outputs are known of sample {}", batches.samples[slot][row]));
      }
      ASSIGN_OR_RETURN(const auto bytes, known_row(outputs[place->second.slot][k], first,
                                                   known.batch_size, place->second.row));
      std::ranges::copy(bytes, into.subspan(row * row_bytes).begin());
    }
  }
  return ok_status();
}

}  // namespace

worker::ArenaLayout KnownBatches::layout(std::uint32_t callers) const {
  return {.inputs = inputs,
          .outputs = outputs,
          .input_slots = samples.size(),
          .output_slots = samples.size() + callers,
          .output_capacity_bytes = output_capacity_bytes};
}

Result<std::vector<TensorView>> KnownBatches::expected(std::size_t slot) const {
  const worker::ArenaLayout shape = layout(0);
  const std::size_t bytes = worker::output_slot_bytes(shape);
  return worker::read_output_slot(shape, std::span(expected_bytes).subspan(slot * bytes, bytes));
}

Result<KnownBatches> decode_batches(const dataset::Dataset& dataset,
                                    const std::vector<std::optional<std::size_t>>& batch_axes,
                                    std::vector<TensorSpec> inputs, const LoadedModel& loaded,
                                    Arrangement samples) {
  KnownBatches batches;
  batches.batch_size = loaded.batch_size;
  batches.asked_batch_size = loaded.asked_batch_size;
  batches.samples = std::move(samples);
  batches.inputs = std::move(inputs);
  batches.outputs = loaded.outputs;
  batches.output_capacity_bytes = worker::guess_output_bytes(loaded.outputs, loaded.batch_size);
  ASSIGN_OR_RETURN(const std::size_t slot_bytes, worker::input_slot_bytes(batches.inputs));
  batches.input_bytes.resize(slot_bytes * batches.samples.size());
  const std::vector<dataset::BatchBuffers> slots =
      slot_buffers(batches.layout(0), batches.input_bytes);
  for (std::size_t slot = 0; slot < batches.samples.size(); ++slot) {
    RETURN_IF_ERROR(
        dataset::decode_samples(dataset, batches.samples[slot], batch_axes, slots[slot]));
  }
  return batches;
}

Status share_batches(Session& session, const KnownBatches& batches, std::uint32_t callers) {
  RETURN_IF_ERROR(session.share_arena(batches.layout(callers)));
  std::ranges::copy(batches.input_bytes, session.arena().begin());
  std::ranges::copy(batches.expected_bytes,
                    session.arena().subspan(batches.input_bytes.size()).begin());
  return ok_status();
}

Status record_expected(Session& session, KnownBatches& batches, std::uint64_t seed) {
  const Json request = {
      {"calls", 0}, {"clients", 1}, {"seed", seed}, {"max_duration_ns", 0}, {"record", true}};
  const auto attempt = [&](std::size_t bytes) -> Result<std::uint64_t> {
    batches.output_capacity_bytes = bytes;
    batches.expected_bytes.clear();
    RETURN_IF_ERROR(share_batches(session, batches, 1));
    ASSIGN_OR_RETURN(const Json answer, session.call("exercise", request, kRecordTimeout));
    return missing_output_bytes(TypedObject(answer, "the worker's answer to exercise"));
  };
  RETURN_IF_ERROR(grow_output_room(batches.output_capacity_bytes, attempt).status());
  const std::size_t bytes = worker::output_slot_bytes(batches.layout(1));
  const auto recorded =
      session.arena().subspan(batches.input_bytes.size(), bytes * batches.samples.size());
  batches.expected_bytes.assign(recorded.begin(), recorded.end());
  return ok_status();
}

Status assemble_expected(const KnownBatches& known, KnownBatches& batches) {
  const std::map<std::size_t, Place> places = places_of(known.samples);
  std::vector<std::vector<TensorView>> outputs;
  for (std::size_t slot = 0; slot < known.samples.size(); ++slot) {
    ASSIGN_OR_RETURN(std::vector<TensorView> views, known.expected(slot));
    outputs.push_back(std::move(views));
  }
  const std::int64_t most = std::max(known.batch_size, batches.batch_size);
  batches.output_capacity_bytes = std::max(
      batches.output_capacity_bytes, known.output_capacity_bytes * static_cast<std::size_t>(most));
  batches.expected_bytes.assign(
      worker::output_slot_bytes(batches.layout(0)) * batches.samples.size(), std::byte{0});
  for (std::size_t slot = 0; slot < batches.samples.size(); ++slot) {
    RETURN_IF_ERROR(assemble_slot(known, places, outputs, batches, slot));
  }
  return ok_status();
}

}  // namespace assay::controller
