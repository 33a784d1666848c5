#pragma once

// Outputs of a run on disk, kept by sample. One file holds every output of every sample of one
// data set as one backend gave them: the cached reference, a run's own outputs, and what a timed
// run is held against are all such files. Memory does not grow with the data set, apart from one
// bit per sample and output while writing.
//
// File (little-endian), version 1:
//   fixed header (64 bytes) | JSON header | records, 64-byte aligned, one per sample in order
//   record: for each output {u32 mark, u32 crc32 of the bytes} bytes, padded to 8
// A mark of 0 means "not written". Everything a file says is checked before it is believed.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace assay::check {

// What the outputs are outputs of. Two stores may be compared, and a cached one may be used again,
// only when what should be equal is.
struct StoreIdentity {
  std::string model_hash;          // SHA-256 of the model file that ran, 64 hexadecimal digits
  std::string dataset_hash;        // SHA-256 over the data set and its preprocessing
  std::string executed_precision;  // as executed, not as requested: "FLOAT32", "int16_mix"
  std::string backend;             // hardware type and runtime version: "CPU onnxruntime 1.31.1"
  std::map<std::string, std::uint64_t> seeds;  // every seed that the outputs depend on, by name

  friend bool operator==(const StoreIdentity&, const StoreIdentity&) = default;
};

// Ok when `found` equals `wanted`; else kFailedPrecondition naming the first member that differs
// and both its values.
Status check_identity(const StoreIdentity& found, const StoreIdentity& wanted);

// Writes one store. One thread at a time. Samples may come in any order; in order is fastest.
class OutputWriter {
 public:
  // `outputs`: per-sample specs, concrete, in the model's order. Nothing appears at `path` before
  // finish(); what is written until then is beside it and goes when the writer does.
  static Result<OutputWriter> open(const std::filesystem::path& path, const StoreIdentity& identity,
                                   std::vector<TensorSpec> outputs, std::uint64_t sample_count);
  OutputWriter(OutputWriter&&) noexcept;
  OutputWriter& operator=(OutputWriter&&) noexcept;
  ~OutputWriter();

  // The bytes are copied. kOutOfRange for an index, kInvalidArgument for a byte size that the spec
  // does not have, kAlreadyExists for a second write, kResourceExhausted when the disk is full.
  Status write(std::uint64_t sample_index, std::size_t output_index,
               std::span<const std::byte> bytes);

  // Samples of which some output was not written; at most `limit` of them, lowest first.
  std::vector<std::uint64_t> missing_samples(std::size_t limit) const;
  std::uint64_t missing_count() const;

  // Puts the file in place, synced. Missing samples are legal and stay marked. Call once.
  Status finish();

 private:
  struct State;
  explicit OutputWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Reads one store. One thread at a time. Holds 64 KiB of it in memory, or one output where that is
// more, and no mapping: a file that is cut while it is read gives an error, not a signal. In order
// is fastest.
class OutputReader {
 public:
  // kNotFound, or kDataLoss for a file that is not a whole, consistent store.
  static Result<OutputReader> open(const std::filesystem::path& path);
  OutputReader(OutputReader&&) noexcept;
  OutputReader& operator=(OutputReader&&) noexcept;
  ~OutputReader();

  const StoreIdentity& identity() const;
  const std::vector<TensorSpec>& outputs() const;  // per sample
  std::uint64_t sample_count() const;
  std::uint64_t complete_samples() const;  // as the writer counted them

  // True when every output of the sample was written.
  Result<bool> has(std::uint64_t sample_index);

  // The bytes of one output; valid until the next call of has() or output(). kOutOfRange for an
  // index, kNotFound for what was not written, kDataLoss for bytes that are not those written.
  Result<std::span<const std::byte>> output(std::uint64_t sample_index, std::size_t output_index);

 private:
  struct State;
  explicit OutputReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::check
