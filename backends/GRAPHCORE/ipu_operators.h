#pragma once

// The chip's operators as ONNX Runtime's custom ones, of the domain kDomain.

#include <memory>

#include "device_state.h"
#include "onnxruntime/ort.h"

namespace graphcore {

// The operators over one loaded model's state. Outlives every session that uses it.
class IpuOperators {
 public:
  explicit IpuOperators(DeviceState& state);
  ~IpuOperators();
  IpuOperators(const IpuOperators&) = delete;
  IpuOperators& operator=(const IpuOperators&) = delete;

  void add_to(Ort::SessionOptions& options);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace graphcore
