#pragma once

// A TorchScript file in LibTorch. No header of LibTorch is named here: they take long to compile.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/backend.hpp"
#include "executed_precision.h"
#include "options.h"

namespace cpu {

// What one call returned. Contiguous host tensors.
class ScriptOutputs {
 public:
  struct Impl;
  explicit ScriptOutputs(std::unique_ptr<Impl> impl);
  ScriptOutputs(ScriptOutputs&&) noexcept;
  ~ScriptOutputs();

  std::size_t size() const;
  const std::string& key(std::size_t index) const;  // of a dict; "" where only the place counts
  assay::backend::DType dtype(std::size_t index) const;
  std::vector<std::int64_t> shape(std::size_t index) const;
  std::size_t size_bytes(std::size_t index) const;
  const void* data(std::size_t index) const;

 private:
  std::unique_ptr<Impl> impl_;
};

// Loaded, frozen as the options say, for evaluation. Any number of threads may run it.
class Script {
 public:
  // Throws ASSAY_INVALID_ARGUMENT for a file that is no TorchScript, ASSAY_UNIMPLEMENTED for an
  // operator that LibTorch lacks.
  Script(const std::string& path, const Options& options, int cpus);
  ~Script();

  // Of forward, in its order, without self.
  std::vector<std::string> argument_names() const;
  std::size_t required_arguments() const;

  // `inputs` in the order of forward's arguments. Throws ASSAY_INVALID_ARGUMENT with LibTorch's
  // reason.
  ScriptOutputs run(const std::vector<assay::backend::Tensor>& inputs) const;

  // One run, and the operators that LibTorch executed in it, with the dtype of their first tensor.
  ExecutedPrecision record(const std::vector<assay::backend::Tensor>& inputs) const;

  static std::string version();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cpu
