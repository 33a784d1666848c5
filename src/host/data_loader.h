#pragma once

// Internal to the room: CalibrationData in the form in which it crosses the boundary.

#include <vector>

#include "assay/backend.h"
#include "host/compile_backend.h"

namespace assay::host {

// Borrows `data`, which must outlive it.
class LoaderBridge {
 public:
  explicit LoaderBridge(CalibrationData& data);
  LoaderBridge(const LoaderBridge&) = delete;
  LoaderBridge& operator=(const LoaderBridge&) = delete;

  const assay_data_loader* get() const { return &loader_; }

 private:
  static std::int32_t read(void* context, std::uint64_t first, std::uint64_t count,
                           const assay_tensor** tensors, std::uint64_t* tensor_count,
                           assay_error* error);

  CalibrationData* data_;
  std::vector<assay_tensor> tensors_;
  assay_data_loader loader_;
};

}  // namespace assay::host
