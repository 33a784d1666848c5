#pragma once

// The layout of an output store, version 1; see output_store.h. Internal to check.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "check/output_store.h"

namespace assay::check {

inline constexpr std::size_t kFixedHeaderBytes = 64;
inline constexpr std::size_t kMarkBytes = 8;
inline constexpr std::uint32_t kLargestJsonBytes = 1U << 24;

// The first 64 bytes. `header_crc` is over all before it; `json_crc` over the JSON header.
struct FixedHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t json_bytes;
  std::uint64_t sample_count;
  std::uint64_t record_bytes;
  std::uint64_t records_offset;
  std::uint64_t complete_samples;
  std::uint32_t json_crc;
  std::uint32_t reserved[2];
  std::uint32_t header_crc;
};
static_assert(sizeof(FixedHeader) == kFixedHeaderBytes);

// What precedes each output's bytes.
struct OutputMark {
  std::uint32_t mark;  // kWritten or 0
  std::uint32_t crc;   // CRC-32 of the bytes
};
static_assert(sizeof(OutputMark) == kMarkBytes);
inline constexpr std::uint32_t kWritten = 0x54505455;

// Where each output lies within a record.
struct RecordLayout {
  std::vector<std::uint64_t> offsets;  // of the mark
  std::vector<std::size_t> sizes;      // of the bytes
  std::uint64_t record_bytes = 0;
};
// kInvalidArgument for a spec that is not concrete; kOutOfRange when it does not fit.
Result<RecordLayout> layout_of(const std::vector<TensorSpec>& outputs);

std::uint32_t crc32_of(std::span<const std::byte> bytes);
std::span<const std::byte> bytes_of(std::string_view text);

// The JSON header: identity and outputs.
Result<std::string> write_store_json(const StoreIdentity& identity,
                                     const std::vector<TensorSpec>& outputs);
struct StoreJson {
  StoreIdentity identity;
  std::vector<TensorSpec> outputs;
};
// kDataLoss for anything that write_store_json does not write.
Result<StoreJson> read_store_json(std::string_view text);

// A whole header of `sample_count` samples; complete_samples and CRC as given by seal().
FixedHeader make_header(std::string_view json, const RecordLayout& layout,
                        std::uint64_t sample_count);
void seal(FixedHeader& header, std::uint64_t complete_samples);

// Checks everything that the 64 bytes and the file's size can tell. kDataLoss with the reason.
Status check_header(const FixedHeader& header, std::uint64_t file_bytes);

}  // namespace assay::check
