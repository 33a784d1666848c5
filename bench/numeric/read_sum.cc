#include "read_sum.h"

#include <cstddef>
#include <cstring>

namespace assay {
namespace {

constexpr std::size_t kLanes = 16;
constexpr std::size_t kSums = 8;

// Eight independent sums of vectors: more than an addition's latency needs.
#define READ_SUM_BODY                                                       \
  typedef float Lanes __attribute__((vector_size(kLanes * 4)));             \
  Lanes sums[kSums] = {};                                                   \
  const std::size_t step = kLanes * kSums;                                  \
  std::size_t i = 0;                                                        \
  for (; i + step <= values.size(); i += step) {                            \
    for (std::size_t k = 0; k < kSums; ++k) {                               \
      Lanes lanes;                                                          \
      std::memcpy(&lanes, values.data() + i + k * kLanes, sizeof(lanes));   \
      sums[k] += lanes;                                                     \
    }                                                                       \
  }                                                                         \
  float total = 0;                                                          \
  for (; i < values.size(); ++i) total += values[i];                        \
  for (const Lanes& lanes : sums) {                                         \
    for (std::size_t lane = 0; lane < kLanes; ++lane) total += lanes[lane]; \
  }                                                                         \
  return total

float sum_baseline(std::span<const float> values) { READ_SUM_BODY; }

#if defined(__x86_64__)
__attribute__((target("avx2"))) float sum_avx2(std::span<const float> values) { READ_SUM_BODY; }
__attribute__((target("avx512f"))) float sum_avx512(std::span<const float> values) {
  READ_SUM_BODY;
}
#endif

}  // namespace

float read_sum(std::span<const float> values) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return sum_avx512(values);
  if (__builtin_cpu_supports("avx2")) return sum_avx2(values);
#endif
  return sum_baseline(values);
}

}  // namespace assay
