#include "check/npy.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check/partial_file.h"
#include "tensor/convert.h"
#include "tensor/tensor.h"

namespace assay::check {
namespace {

struct NpyType {
  DType dtype;
  DType written_as;
  std::string_view descr;
};
constexpr NpyType kTypes[] = {
    {DType::kFloat64, DType::kFloat64, "<f8"}, {DType::kFloat32, DType::kFloat32, "<f4"},
    {DType::kFloat16, DType::kFloat16, "<f2"}, {DType::kBFloat16, DType::kFloat32, "<f4"},
    {DType::kInt64, DType::kInt64, "<i8"},     {DType::kInt32, DType::kInt32, "<i4"},
    {DType::kInt16, DType::kInt16, "<i2"},     {DType::kInt8, DType::kInt8, "|i1"},
    {DType::kUInt64, DType::kUInt64, "<u8"},   {DType::kUInt32, DType::kUInt32, "<u4"},
    {DType::kUInt16, DType::kUInt16, "<u2"},   {DType::kUInt8, DType::kUInt8, "|u1"},
    {DType::kBool, DType::kBool, "|b1"},
};

const NpyType* find_type(DType dtype) {
  for (const NpyType& type : kTypes) {
    if (type.dtype == dtype) return &type;
  }
  return nullptr;
}

// "(3, 1, 10,)": a comma after every dimension is right for one and for many.
std::string header_text(const NpyType& type, std::uint64_t rows, const Shape& row_shape) {
  std::string shape = fmt::format("({},", rows);
  for (const std::int64_t dimension : row_shape) shape += fmt::format(" {},", dimension);
  return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {})}}", type.descr, shape);
}

constexpr std::size_t kPrefixBytes = 10;  // magic, version, length of the rest

// Magic, version, length, text, spaces, newline; `size_bytes` in all. Source: NumPy's NEP 1.
std::string padded_header(std::string text, std::size_t size_bytes) {
  text.append(size_bytes - kPrefixBytes - text.size() - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

// Room for as many rows as there may ever be, in a multiple of 64 bytes.
Result<std::size_t> header_size(const NpyType& type, const Shape& row_shape) {
  const std::size_t needed = kPrefixBytes + header_text(type, UINT64_MAX, row_shape).size() + 1;
  const std::size_t size_bytes = (needed + 63) / 64 * 64;
  if (size_bytes - kPrefixBytes > UINT16_MAX)
    return invalid_argument("the rank is too high for .npy");
  return size_bytes;
}

}  // namespace

struct NpyWriter::State {
  PartialFile file;
  NpyType type;
  Shape row_shape;
  std::size_t row_bytes;           // as they come
  std::vector<std::byte> widened;  // as they are written, when that is another dtype
  std::size_t header_bytes;
  std::uint64_t offset;
  std::uint64_t rows = 0;
};

Result<NpyWriter> NpyWriter::open(const std::filesystem::path& path, DType dtype, Shape row_shape) {
  const NpyType* type = find_type(dtype);
  if (type == nullptr) {
    return unimplemented(fmt::format(".npy has no name for {}", name_of(dtype)));
  }
  ASSIGN_OR_RETURN(const std::size_t row_bytes, byte_size({"row", dtype, row_shape}));
  ASSIGN_OR_RETURN(const std::size_t header_bytes, header_size(*type, row_shape));
  ASSIGN_OR_RETURN(PartialFile file, PartialFile::create(path));
  std::vector<std::byte> widened;
  if (type->written_as != dtype) {
    widened.resize(row_bytes / size_of(dtype) * size_of(type->written_as));
  }
  return NpyWriter(
      std::make_unique<State>(State{std::move(file), *type, std::move(row_shape), row_bytes,
                                    std::move(widened), header_bytes, header_bytes}));
}

NpyWriter::NpyWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
NpyWriter::NpyWriter(NpyWriter&&) noexcept = default;
NpyWriter& NpyWriter::operator=(NpyWriter&&) noexcept = default;
NpyWriter::~NpyWriter() = default;

Status NpyWriter::append(std::span<const std::byte> row) {
  State& state = *state_;
  if (row.size() != state.row_bytes) {
    return invalid_argument(
        fmt::format("row of {} bytes, {} are wanted", row.size(), state.row_bytes));
  }
  if (state.type.written_as != state.type.dtype) {
    RETURN_IF_ERROR(convert(state.type.dtype, row, state.type.written_as, state.widened));
    row = state.widened;
  }
  RETURN_IF_ERROR(state.file.write_at(state.offset, row));
  state.offset += row.size();
  ++state.rows;
  return ok_status();
}

Status NpyWriter::finish() {
  State& state = *state_;
  const std::string header =
      padded_header(header_text(state.type, state.rows, state.row_shape), state.header_bytes);
  RETURN_IF_ERROR(state.file.write_at(0, std::as_bytes(std::span(header))));
  return state.file.commit();
}

}  // namespace assay::check
