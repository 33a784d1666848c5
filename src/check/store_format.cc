#include "check/store_format.h"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay::check {
namespace {

static_assert(std::endian::native == std::endian::little, "stores are little-endian");

constexpr char kMagic[8] = {'A', 'S', 'S', 'A', 'Y', 'O', 'U', 'T'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMostOutputs = 4096;
constexpr std::size_t kHighestRank = 64;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

std::span<const std::byte> before_crc(const FixedHeader& header) {
  return std::as_bytes(std::span(&header, 1)).first(offsetof(FixedHeader, header_crc));
}

Status malformed(std::string_view what) { return data_loss(fmt::format("header: {}", what)); }

Result<std::string> read_text(const Json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_string()) {
    return malformed(fmt::format("\"{}\" is not a text", key));
  }
  return member->get<std::string>();
}

Result<StoreIdentity> read_identity(const Json& object) {
  if (!object.is_object()) return malformed("\"identity\" is not an object");
  StoreIdentity identity;
  ASSIGN_OR_RETURN(identity.model_hash, read_text(object, "model_hash"));
  ASSIGN_OR_RETURN(identity.dataset_hash, read_text(object, "dataset_hash"));
  ASSIGN_OR_RETURN(identity.executed_precision, read_text(object, "executed_precision"));
  ASSIGN_OR_RETURN(identity.backend, read_text(object, "backend"));
  const auto seeds = object.find("seeds");
  if (seeds == object.end() || !seeds->is_object()) return malformed("\"seeds\" is not an object");
  for (const auto& [name, seed] : seeds->items()) {
    if (!seed.is_number_unsigned()) return malformed(fmt::format("seed \"{}\" is no number", name));
    identity.seeds[name] = seed.get<std::uint64_t>();
  }
  return identity;
}

Result<Shape> read_shape(const Json& array) {
  if (!array.is_array() || array.size() > kHighestRank) return malformed("a shape is not a list");
  Shape shape;
  for (const Json& dimension : array) {
    if (!dimension.is_number_unsigned()) return malformed("a dimension is not a number");
    const auto value = dimension.get<std::uint64_t>();
    if (value > INT64_MAX) return malformed("a dimension is too large");
    shape.push_back(static_cast<std::int64_t>(value));
  }
  return shape;
}

Result<TensorSpec> read_output(const Json& object) {
  if (!object.is_object()) return malformed("an output is not an object");
  TensorSpec spec;
  ASSIGN_OR_RETURN(spec.name, read_text(object, "name"));
  ASSIGN_OR_RETURN(const std::string dtype_name, read_text(object, "dtype"));
  const Result<DType> dtype = parse_dtype(dtype_name);
  if (!dtype.ok()) return malformed(dtype.status().message());
  spec.dtype = *dtype;
  const auto shape = object.find("shape");
  if (shape == object.end()) return malformed("an output has no shape");
  ASSIGN_OR_RETURN(spec.shape, read_shape(*shape));
  return spec;
}

}  // namespace

Result<RecordLayout> layout_of(const std::vector<TensorSpec>& outputs) {
  if (outputs.empty() || outputs.size() > kMostOutputs) {
    return invalid_argument(
        fmt::format("{} outputs; a store holds 1 to {}", outputs.size(), kMostOutputs));
  }
  RecordLayout layout;
  for (const TensorSpec& spec : outputs) {
    ASSIGN_OR_RETURN(const std::size_t size, byte_size(spec));
    if (size > UINT64_MAX / 4 - layout.record_bytes) {
      return out_of_range(fmt::format("output {} makes a record too large", to_string(spec)));
    }
    layout.offsets.push_back(layout.record_bytes);
    layout.sizes.push_back(size);
    layout.record_bytes += kMarkBytes + round_up(size, kMarkBytes);
  }
  return layout;
}

std::uint32_t crc32_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Result<std::string> write_store_json(const StoreIdentity& identity,
                                     const std::vector<TensorSpec>& outputs) {
  Json json;
  json["identity"] = {{"model_hash", identity.model_hash},
                      {"dataset_hash", identity.dataset_hash},
                      {"executed_precision", identity.executed_precision},
                      {"backend", identity.backend},
                      {"seeds", Json::object()}};
  for (const auto& [name, seed] : identity.seeds) json["identity"]["seeds"][name] = seed;
  json["outputs"] = Json::array();
  for (const TensorSpec& spec : outputs) {
    json["outputs"].push_back(
        {{"name", spec.name}, {"dtype", name_of(spec.dtype)}, {"shape", spec.shape}});
  }
  try {
    return json.dump();
  } catch (const Json::exception& error) {  // a name that is not UTF-8
    return invalid_argument(fmt::format("cannot write the store's header: {}", error.what()));
  }
}

Result<StoreJson> read_store_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return malformed("not a JSON object");
  const auto identity = json.find("identity");
  const auto outputs = json.find("outputs");
  if (identity == json.end()) return malformed("no \"identity\"");
  if (outputs == json.end() || !outputs->is_array()) return malformed("no list \"outputs\"");
  StoreJson store;
  ASSIGN_OR_RETURN(store.identity, read_identity(*identity));
  for (const Json& output : *outputs) {
    ASSIGN_OR_RETURN(TensorSpec spec, read_output(output));
    store.outputs.push_back(std::move(spec));
  }
  return store;
}

FixedHeader make_header(std::string_view json, const RecordLayout& layout,
                        std::uint64_t sample_count) {
  FixedHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.json_bytes = static_cast<std::uint32_t>(json.size());
  header.sample_count = sample_count;
  header.record_bytes = layout.record_bytes;
  header.records_offset = round_up(kFixedHeaderBytes + json.size(), 64);
  header.json_crc = crc32_of(bytes_of(json));
  return header;
}

void seal(FixedHeader& header, std::uint64_t complete_samples) {
  header.complete_samples = complete_samples;
  header.header_crc = crc32_of(before_crc(header));
}

Status check_header(const FixedHeader& header, std::uint64_t file_bytes) {
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return data_loss("not an output store");
  if (header.version != kVersion) {
    return data_loss(
        fmt::format("store version {}, this program reads {}", header.version, kVersion));
  }
  if (header.header_crc != crc32_of(before_crc(header)))
    return malformed("checksum does not match");
  if (header.json_bytes > kLargestJsonBytes) return malformed("names and shapes are too long");
  if (header.records_offset != round_up(kFixedHeaderBytes + header.json_bytes, 64)) {
    return malformed("records start at the wrong place");
  }
  if (header.complete_samples > header.sample_count)
    return malformed("more complete samples than samples");
  std::uint64_t wanted = 0;
  if (header.sample_count == 0 || header.record_bytes == 0 ||
      __builtin_mul_overflow(header.sample_count, header.record_bytes, &wanted) ||
      __builtin_add_overflow(wanted, header.records_offset, &wanted)) {
    return malformed("impossible number or size of samples");
  }
  if (wanted != file_bytes) {
    return data_loss(fmt::format("file has {} bytes, {} samples take {}", file_bytes,
                                 header.sample_count, wanted));
  }
  return ok_status();
}

}  // namespace assay::check
