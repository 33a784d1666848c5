#include <immintrin.h>

#include "kernels.h"

namespace graphcore::arith {
namespace {
constexpr std::size_t kWidth = 8;
constexpr std::size_t kVectors = 2;
constexpr std::size_t kRows = 6;
}  // namespace
}  // namespace graphcore::arith

#define ARITH_TO_HALF(values) _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define ARITH_FROM_HALF(halves) _mm256_cvtph_ps(halves)
#define ARITH_FUSED(a, b, sum) _mm256_fmadd_ps(a, b, sum)

#include "kernel.inc"

namespace graphcore::arith {
const Kernels& avx2_kernels() { return kKernels; }
}  // namespace graphcore::arith
