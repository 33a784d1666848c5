#pragma once

// The chip behind the seam. A failure is a backend::Error: UNAVAILABLE for a device that cannot be
// had, FAILED_PRECONDITION for an executable of another SDK, RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED,
// else UNKNOWN, each with the module's text.

#include <cstdint>
#include <string>

#include "assay/backend.hpp"
#include "sdk/seam.h"

namespace graphcore {

// Opens the module at `path` and checks its version. It is never closed. Throws UNAVAILABLE when
// it is not there or cannot be loaded, with the loader's reason.
const graphcore_module& open_module(const std::string& path);

// Where the module of this installation lies: beside the backend's library.
std::string module_path();

// Chips that there are; acquires none.
std::uint32_t count_devices(const graphcore_module& module);

// An executable on a chip, which is given back at the end.
class Device {
 public:
  Device(const graphcore_module& module, const std::string& executable, std::uint64_t timeout_ms);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const assay::backend::Signature& signature() const { return signature_; }

  // As RuntimeBackend::predict. Sizes are held against the signature before anything runs.
  void run(const assay::backend::Inputs& inputs, assay::backend::Outputs& outputs,
           std::uint64_t timeout_ms);

  // Gives the chip back and says what went wrong; the destructor says nothing.
  void close();

 private:
  void describe();

  const graphcore_module* module_;
  graphcore_executable* executable_ = nullptr;
  assay::backend::Signature signature_;
};

}  // namespace graphcore
