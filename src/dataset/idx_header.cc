// The IDX format, as described with the MNIST database: a magic number 00 00 TT RR, where TT is the
// type (08: unsigned byte) and RR the rank, then RR sizes of 32 bits, most significant byte first.
#include <fmt/format.h>

#include <array>

#include "dataset/array_file.h"

namespace assay::dataset {
namespace {

constexpr std::byte kUnsignedByte{0x08};
constexpr std::size_t kMaxRank = 8;

std::int64_t big_endian_32(std::span<const std::byte, 4> bytes) {
  std::int64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::int64_t>(byte);
  return value;
}

}  // namespace

Result<ArrayHeader> read_idx_header(ByteStream& stream) {
  std::array<std::byte, 4> magic{};
  RETURN_IF_ERROR(read_exactly(stream, magic));
  const auto rank = std::to_integer<std::size_t>(magic[3]);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0} || rank == 0 || rank > kMaxRank) {
    return data_loss(fmt::format("{} is not an IDX file (by its first bytes)", stream.name()));
  }
  if (magic[2] != kUnsignedByte) {
    return unimplemented(fmt::format("{}: IDX type 0x{:02x}, only unsigned bytes (0x08) are read",
                                     stream.name(), std::to_integer<int>(magic[2])));
  }
  ArrayHeader header{DType::kUInt8, {}, false};
  for (std::size_t i = 0; i < rank; ++i) {
    std::array<std::byte, 4> size{};
    RETURN_IF_ERROR(read_exactly(stream, size));
    header.shape.push_back(big_endian_32(size));
  }
  return header;
}

}  // namespace assay::dataset
