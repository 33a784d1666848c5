#pragma once

// NumPy's .npy files, version 1.0, written as the rows come: what --keep_raw leaves for others.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "base/result.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace assay::check {

// Writes an array of shape [rows, row_shape...], rows appended one after the other. BFLOAT16 has no
// name in .npy and is written as FLOAT32, which loses nothing; FP8 is kUnimplemented. One thread at
// a time; memory does not grow.
class NpyWriter {
 public:
  // Nothing appears at `path` before finish().
  static Result<NpyWriter> open(const std::filesystem::path& path, DType dtype, Shape row_shape);
  NpyWriter(NpyWriter&&) noexcept;
  NpyWriter& operator=(NpyWriter&&) noexcept;
  ~NpyWriter();

  // One row: exactly element_count(row_shape) elements. kInvalidArgument for another byte size.
  Status append(std::span<const std::byte> row);

  // Puts the file in place with the number of rows that were appended. Call once.
  Status finish();

 private:
  struct State;
  explicit NpyWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::check
