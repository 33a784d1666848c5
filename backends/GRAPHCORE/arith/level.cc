#include "level.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernels.h"

namespace graphcore::arith {
namespace {

#if defined(__x86_64__)
// __builtin_cpu_supports knows no "f16c" in every compiler; that the system saves the registers is
// in its answer to "avx".
bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) != 0 &&
         (c & bit_F16C) != 0;
}
#endif

std::vector<Level> find_levels() {
  std::vector<Level> levels{Level::kPlain};
#if defined(__x86_64__)
  if (!has_f16c()) return levels;
  levels.push_back(Level::kF16c);
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return levels;
  levels.push_back(Level::kAvx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    levels.push_back(Level::kAvx512);
  }
#endif
  return levels;
}

}  // namespace

const char* name_of(Level level) {
  switch (level) {
    case Level::kF16c:
      return "f16c";
    case Level::kAvx2:
      return "avx2";
    case Level::kAvx512:
      return "avx512";
    case Level::kPlain:
      break;
  }
  return "plain";
}

const std::vector<Level>& usable_levels() {
  static const std::vector<Level> kLevels = find_levels();
  return kLevels;
}

const Kernels& kernels_of(Level level) {
#if defined(__x86_64__)
  if (level == Level::kF16c) return f16c_kernels();
  if (level == Level::kAvx2) return avx2_kernels();
  if (level == Level::kAvx512) return avx512_kernels();
#endif
  static_cast<void>(level);
  return plain_kernels();
}

Rules rules_of(const Arithmetic& arithmetic, std::uint64_t op_key) {
  return {half_partials(arithmetic), arithmetic.rounding == Rounding::kStochastic,
          arithmetic.overflow == Overflow::kNan, draw_keys(arithmetic.seed, op_key)};
}

}  // namespace graphcore::arith
