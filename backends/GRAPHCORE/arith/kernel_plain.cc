#include "kernels.h"

namespace graphcore::arith {
namespace {
constexpr std::size_t kWidth = 4;
constexpr std::size_t kVectors = 2;
constexpr std::size_t kRows = 4;
}  // namespace
}  // namespace graphcore::arith

#include "kernel.inc"

namespace graphcore::arith {
const Kernels& plain_kernels() { return kKernels; }
}  // namespace graphcore::arith
