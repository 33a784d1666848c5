#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "dataset/byte_stream.h"
#include "dataset/random_file.h"
#include "tensor/tensor.h"

namespace assay::dataset {

// What the header of an array says of the bytes that follow it.
struct ArrayHeader {
  DType dtype = DType::kUInt8;
  Shape shape;                 // outermost dimension: samples
  bool columns_first = false;  // Fortran order; only for rank 2
};

// An array of samples unpacked into a scratch file: rows are read at random, memory stays constant.
class ArrayFile {
 public:
  // `stream` stands after the header and must hold exactly the array's bytes. `visit` sees all of
  // them once, in order, for hashing. kDataLoss when there are fewer or more.
  static Result<ArrayFile> unpack(ArrayHeader header, ByteStream& stream,
                                  const std::filesystem::path& scratch_folder,
                                  const std::function<void(std::span<const std::byte>)>& visit);

  const ArrayHeader& header() const { return header_; }
  std::size_t rows() const { return rows_; }
  std::size_t row_bytes() const { return row_bytes_; }

  // Row `index` in C order; `into` is row_bytes() long. Thread-safe.
  Status read_row(std::size_t index, std::span<std::byte> into) const;

 private:
  ArrayFile(ArrayHeader header, RandomFile file, std::size_t rows, std::size_t row_bytes)
      : header_(std::move(header)), file_(std::move(file)), rows_(rows), row_bytes_(row_bytes) {}

  ArrayHeader header_;
  RandomFile file_;
  std::size_t rows_;
  std::size_t row_bytes_;
};

// Reads the header of an IDX stream (the MNIST format): 0, 0, type, rank, then big-endian sizes.
// kDataLoss for anything else. Only unsigned bytes are taken: kUnimplemented for other types.
Result<ArrayHeader> read_idx_header(ByteStream& stream);

// Reads the header of an .npy stream, versions 1 to 3. kDataLoss for anything else; kUnimplemented
// for types that no tensor of ours has, big-endian ones among them.
Result<ArrayHeader> read_npy_header(ByteStream& stream);

}  // namespace assay::dataset
