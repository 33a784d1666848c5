#include "host/data_loader.h"

#include <exception>
#include <span>

#include "host/tensor_check.h"

namespace assay::host {

LoaderBridge::LoaderBridge(CalibrationData& data)
    : data_(&data),
      loader_{sizeof(assay_data_loader), data.disjoint() ? 1U : 0U, this, data.sample_count(),
              &LoaderBridge::read} {}

std::int32_t LoaderBridge::read(void* context, std::uint64_t first, std::uint64_t count,
                                const assay_tensor** tensors, std::uint64_t* tensor_count,
                                assay_error* error) {
  auto& self = *static_cast<LoaderBridge*>(context);
  *tensors = nullptr;
  *tensor_count = 0;
  try {
    const Result<std::span<const TensorView>> batch = self.data_->read(first, count);
    if (!batch.ok()) {
      return assay_set_error(error, static_cast<std::int32_t>(batch.status().code()),
                             batch.status().message().c_str());
    }
    self.tensors_.clear();
    for (const TensorView& view : *batch) self.tensors_.push_back(boundary_tensor(view));
    *tensors = self.tensors_.data();
    *tensor_count = self.tensors_.size();
    return ASSAY_OK;
  } catch (const std::exception& e) {
    return assay_set_error(error, ASSAY_INTERNAL, e.what());
  }
}

Result<std::span<const TensorView>> NoData::read(std::uint64_t /*first*/, std::uint64_t /*count*/) {
  return out_of_range("there are no samples");
}

}  // namespace assay::host
