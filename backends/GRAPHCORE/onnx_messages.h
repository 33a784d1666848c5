#pragma once

// Generated from the pinned definition of ONNX, in a namespace of this backend's own.

#include "graphcore_onnx/onnx-ml.pb.h"

namespace graphcore {
namespace onnx = ::graphcore_onnx;
}  // namespace graphcore
