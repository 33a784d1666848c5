// The .npy format, NumPy Enhancement Proposal 1: "\x93NUMPY", version, header length, and a Python
// dict literal with exactly the keys descr, fortran_order and shape.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "dataset/array_file.h"

namespace assay::dataset {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = 4096;

struct TypeRow {
  std::string_view descr;
  DType dtype;
};

constexpr std::array kTypes = {
    TypeRow{"<f8", DType::kFloat64}, TypeRow{"<f4", DType::kFloat32},
    TypeRow{"<f2", DType::kFloat16}, TypeRow{"<i8", DType::kInt64},
    TypeRow{"<i4", DType::kInt32},   TypeRow{"<i2", DType::kInt16},
    TypeRow{"|i1", DType::kInt8},    TypeRow{"|u1", DType::kUInt8},
    TypeRow{"|b1", DType::kBool},    TypeRow{"<u2", DType::kUInt16},
    TypeRow{"<u4", DType::kUInt32},  TypeRow{"<u8", DType::kUInt64},
};

// Reads the dict literal; every function returns false, or nullopt, at the first surprise.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  bool take(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  std::optional<std::string_view> text() {
    if (!take("'")) return std::nullopt;
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return value;
  }

  std::optional<bool> boolean() {
    if (take("True")) return true;
    if (take("False")) return false;
    return std::nullopt;
  }

  std::optional<Shape> shape() {
    if (!take("(")) return std::nullopt;
    Shape shape;
    while (!take(")")) {
      skip_space();
      std::int64_t value = -1;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc() || value < 0) return std::nullopt;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      shape.push_back(value);
      if (take(",")) continue;
      if (!take(")")) return std::nullopt;
      break;
    }
    return shape;
  }

  bool at_end() {
    skip_space();
    return rest_.empty();
  }

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }

  std::string_view rest_;
};

struct Fields {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

bool parse_fields(std::string_view text, Fields& fields) {
  Literal literal(text);
  if (!literal.take("{")) return false;
  while (!literal.take("}")) {
    const auto key = literal.text();
    if (!key || !literal.take(":")) return false;
    if (*key == "descr") {
      fields.descr = literal.text();
    } else if (*key == "fortran_order") {
      fields.fortran_order = literal.boolean();
    } else if (*key == "shape") {
      fields.shape = literal.shape();
    } else {
      return false;
    }
    if (literal.take(",")) continue;
    if (!literal.take("}")) return false;
    break;
  }
  return literal.at_end() && fields.descr && fields.fortran_order && fields.shape;
}

Status not_npy(const ByteStream& stream) {
  return data_loss(fmt::format("{} is not an .npy array (by its header)", stream.name()));
}

// The header's length field: 2 bytes in version 1, 4 in 2 and 3, least significant first.
Result<std::size_t> read_header_length(ByteStream& stream) {
  std::array<std::byte, 8> start{};
  RETURN_IF_ERROR(read_exactly(stream, start));
  const std::string_view magic(reinterpret_cast<const char*>(start.data()), kMagic.size());
  const auto version = std::to_integer<int>(start[6]);
  if (magic != kMagic || version < 1 || version > 3) return not_npy(stream);
  std::array<std::byte, 4> field{};
  RETURN_IF_ERROR(read_exactly(stream, std::span(field).first(version == 1 ? 2 : 4)));
  std::size_t length = 0;
  for (std::size_t i = field.size(); i-- > 0;) {
    length = length << 8 | std::to_integer<std::size_t>(field[i]);
  }
  if (length > kMaxHeaderBytes) return not_npy(stream);
  return length;
}

}  // namespace

Result<ArrayHeader> read_npy_header(ByteStream& stream) {
  ASSIGN_OR_RETURN(const std::size_t length, read_header_length(stream));
  std::string text(length, '\0');
  RETURN_IF_ERROR(read_exactly(stream, std::as_writable_bytes(std::span(text))));
  Fields fields;
  if (!parse_fields(text, fields)) return not_npy(stream);
  for (const TypeRow& row : kTypes) {
    if (row.descr == *fields.descr)
      return ArrayHeader{row.dtype, *fields.shape, *fields.fortran_order};
  }
  return unimplemented(
      fmt::format("{}: arrays of type \"{}\" are not read", stream.name(), *fields.descr));
}

}  // namespace assay::dataset
