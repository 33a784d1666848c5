#include "worker/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace assay::worker {
namespace {

// Size of a spec that is known to be concrete and to fit (input_slot_bytes said so).
std::size_t known_bytes(const TensorSpec& spec) {
  const Result<std::size_t> bytes = byte_size(spec);
  return bytes.ok() ? *bytes : 0;
}

Result<TensorView> read_record(const TensorSpec& declared, const OutputRecord& record,
                               std::span<const std::byte> slot) {
  if (record.present != 1) {
    return failed_precondition(
        fmt::format("output {} was not given by the backend", to_string(declared)));
  }
  if (record.rank > kMaxRank || record.offset > slot.size() ||
      record.size_bytes > slot.size() - record.offset) {
    return data_loss(
        fmt::format("output {}: the worker's record does not fit its slot", to_string(declared)));
  }
  TensorSpec spec = declared;
  spec.shape.assign(record.shape.begin(),
                    record.shape.begin() + static_cast<std::ptrdiff_t>(record.rank));
  ASSIGN_OR_RETURN(const std::size_t wanted, byte_size(spec));
  if (wanted != record.size_bytes) {
    return data_loss(fmt::format("output {}: {} bytes were given, the shape takes {}",
                                 to_string(spec), record.size_bytes, wanted));
  }
  return TensorView{std::move(spec), slot.subspan(record.offset, record.size_bytes)};
}

}  // namespace

Result<std::size_t> input_slot_bytes(const std::vector<TensorSpec>& inputs) {
  std::size_t total = 0;
  for (const TensorSpec& spec : inputs) {
    ASSIGN_OR_RETURN(const std::size_t bytes, byte_size(spec));
    if (__builtin_add_overflow(total, aligned(bytes), &total)) {
      return out_of_range("the inputs of one batch have too many bytes");
    }
  }
  return std::max(total, kArenaAlignment);
}

std::size_t output_slot_bytes(const ArenaLayout& layout) {
  return aligned(layout.outputs.size() * sizeof(OutputRecord)) +
         aligned(std::max(layout.output_capacity_bytes, kArenaAlignment)) +
         layout.outputs.size() * kArenaAlignment;
}

Result<std::size_t> arena_bytes(const ArenaLayout& layout) {
  ASSIGN_OR_RETURN(const std::size_t input, input_slot_bytes(layout.inputs));
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t total = 0;
  if (__builtin_mul_overflow(input, layout.input_slots, &inputs) ||
      __builtin_mul_overflow(output_slot_bytes(layout), layout.output_slots, &outputs) ||
      __builtin_add_overflow(inputs, outputs, &total)) {
    return out_of_range("the shared memory of this phase has too many bytes");
  }
  return std::max(total, kArenaAlignment);
}

std::size_t input_offset(const std::vector<TensorSpec>& inputs, std::size_t k) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < k; ++i) offset += aligned(known_bytes(inputs[i]));
  return offset;
}

std::span<std::byte> input_bytes(const ArenaLayout& layout, std::span<std::byte> arena,
                                 std::size_t slot, std::size_t k) {
  const std::size_t stride = *input_slot_bytes(layout.inputs);
  return arena.subspan(slot * stride + input_offset(layout.inputs, k),
                       known_bytes(layout.inputs[k]));
}

std::span<std::byte> output_slot(const ArenaLayout& layout, std::span<std::byte> arena,
                                 std::size_t slot) {
  const std::size_t stride = output_slot_bytes(layout);
  return arena.subspan(layout.input_slots * *input_slot_bytes(layout.inputs) + slot * stride,
                       stride);
}

Result<std::vector<TensorView>> read_output_slot(const ArenaLayout& layout,
                                                 std::span<const std::byte> slot) {
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < layout.outputs.size(); ++i) {
    OutputRecord record;
    std::memcpy(&record, slot.data() + i * sizeof(OutputRecord), sizeof(OutputRecord));
    ASSIGN_OR_RETURN(TensorView view, read_record(layout.outputs[i], record, slot));
    views.push_back(std::move(view));
  }
  return views;
}

std::size_t guess_output_bytes(const std::vector<TensorSpec>& outputs,
                               std::int64_t free_dimension) {
  std::size_t total = 0;
  for (TensorSpec spec : outputs) {
    for (std::int64_t& dimension : spec.shape) {
      if (dimension < 0) dimension = free_dimension;
    }
    total += aligned(known_bytes(spec));
  }
  return total;
}

Json to_json(const TensorSpec& spec) {
  return Json{{"name", spec.name}, {"dtype", name_of(spec.dtype)}, {"shape", spec.shape}};
}

Result<TensorSpec> spec_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() ||
      !json.contains("dtype") || !json["dtype"].is_string() || !json.contains("shape") ||
      !json["shape"].is_array()) {
    return data_loss("a tensor needs name, dtype and shape");
  }
  TensorSpec spec;
  spec.name = json["name"].get<std::string>();
  ASSIGN_OR_RETURN(spec.dtype, parse_dtype(json["dtype"].get<std::string>()));
  for (const Json& dimension : json["shape"]) {
    if (!dimension.is_number_integer()) return data_loss("a dimension is not a whole number");
    spec.shape.push_back(dimension.get<std::int64_t>());
  }
  return spec;
}

Json to_json(const std::vector<TensorSpec>& specs) {
  Json list = Json::array();
  for (const TensorSpec& spec : specs) list.push_back(to_json(spec));
  return list;
}

Result<std::vector<TensorSpec>> specs_from_json(const Json& json) {
  if (!json.is_array()) return data_loss("a list of tensors is wanted");
  std::vector<TensorSpec> specs;
  for (const Json& item : json) {
    ASSIGN_OR_RETURN(TensorSpec spec, spec_from_json(item));
    specs.push_back(std::move(spec));
  }
  return specs;
}

Json to_json(const ArenaLayout& layout) {
  return Json{{"inputs", to_json(layout.inputs)},
              {"outputs", to_json(layout.outputs)},
              {"input_slots", layout.input_slots},
              {"output_slots", layout.output_slots},
              {"output_capacity_bytes", layout.output_capacity_bytes}};
}

Result<ArenaLayout> layout_from_json(const Json& json) {
  for (const char* key : {"inputs", "outputs"}) {
    if (!json.contains(key)) return data_loss(fmt::format("an arena needs \"{}\"", key));
  }
  for (const char* key : {"input_slots", "output_slots", "output_capacity_bytes"}) {
    if (!json.contains(key) || !json[key].is_number_unsigned()) {
      return data_loss(fmt::format("an arena needs \"{}\", a whole number", key));
    }
  }
  ArenaLayout layout;
  ASSIGN_OR_RETURN(layout.inputs, specs_from_json(json["inputs"]));
  ASSIGN_OR_RETURN(layout.outputs, specs_from_json(json["outputs"]));
  layout.input_slots = json["input_slots"].get<std::size_t>();
  layout.output_slots = json["output_slots"].get<std::size_t>();
  layout.output_capacity_bytes = json["output_capacity_bytes"].get<std::size_t>();
  return layout;
}

}  // namespace assay::worker
