#include <immintrin.h>

#include "kernels.h"

namespace graphcore::arith {
namespace {
constexpr std::size_t kWidth = 16;
constexpr std::size_t kVectors = 4;
constexpr std::size_t kRows = 6;
}  // namespace
}  // namespace graphcore::arith

#define ARITH_TO_HALF(values) \
  _mm512_maskz_cvtps_ph(0xFFFF, values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define ARITH_FROM_HALF(halves) _mm512_maskz_cvtph_ps(0xFFFF, halves)
#define ARITH_FUSED(a, b, sum) _mm512_fmadd_ps(a, b, sum)

#include "kernel.inc"

namespace graphcore::arith {
const Kernels& avx512_kernels() { return kKernels; }
}  // namespace graphcore::arith
