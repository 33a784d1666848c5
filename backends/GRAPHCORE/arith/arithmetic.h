#pragma once

// The arithmetic of the modelled chip: what a value is rounded to, how, and what becomes of one
// that does not fit. docs/reference/ipu-model.md, "Arithmetic", is the same in words. Values of
// fp16 are held in float arrays unless a function says binary16.
//
// Every function here is pure and may be called from several threads at once. The answer depends
// neither on the number of threads nor on the instructions that the processor has.

#include <cstddef>
#include <cstdint>
#include <functional>

namespace graphcore::arith {

enum class Partials { kFloat, kHalf };
enum class Rounding { kNearestEven, kStochastic };
enum class Overflow { kSaturate, kNan };  // nanoo false, true

struct Arithmetic {
  bool half_storage = true;              // operands and results are fp16 values; otherwise fp32
  Partials partials = Partials::kFloat;  // of fp32 storage always float
  Rounding rounding = Rounding::kNearestEven;
  Overflow overflow = Overflow::kSaturate;
  std::uint64_t seed = 0;  // of stochastic rounding
};

struct Counters {
  std::uint64_t overflows = 0;  // roundings to fp16 whose value did not fit
};

inline constexpr float kLargestHalf = 65504.0F;

// Products that one step of the chip's multiplier sums before the partial takes them.
inline constexpr std::size_t kHalfBlock = 16;
inline constexpr std::size_t kFloatBlock = 4;

constexpr std::size_t block_of(const Arithmetic& arithmetic) {
  return arithmetic.half_storage ? kHalfBlock : kFloatBlock;
}

constexpr bool half_partials(const Arithmetic& arithmetic) {
  return arithmetic.half_storage && arithmetic.partials == Partials::kHalf;
}

// Calls task(0) ... task(tasks - 1), in any order, on any threads, and returns when all are done.
// An empty one stands for this thread alone.
using Parallel =
    std::function<void(std::size_t tasks, const std::function<void(std::size_t)>& task)>;

// a[batch][m][k] times b[batch][k][n], row by row.
struct MatMulShape {
  std::size_t batch = 1;
  std::size_t m = 0;
  std::size_t k = 0;
  std::size_t n = 0;
  bool one_a = false;        // the same a for every element of the batch
  bool one_b = false;        // the same b
  bool transpose_a = false;  // a is [m][k] transposed: stored [k][m]
  bool transpose_b = false;  // stored [n][k]
};

// Input [batch][channels][height][width], weights [filters][channels / groups][kernel_y][kernel_x],
// output [batch][filters][out_height()][out_width()].
struct Conv2dShape {
  std::size_t batch = 1;
  std::size_t channels = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t filters = 0;
  std::size_t groups = 1;  // divides channels and filters
  std::size_t kernel_y = 1;
  std::size_t kernel_x = 1;
  std::size_t stride_y = 1;
  std::size_t stride_x = 1;
  std::size_t dilation_y = 1;
  std::size_t dilation_x = 1;
  std::size_t pad_top = 0;
  std::size_t pad_left = 0;
  std::size_t pad_bottom = 0;
  std::size_t pad_right = 0;

  std::size_t out_height() const {
    return (height + pad_top + pad_bottom - dilation_y * (kernel_y - 1) - 1) / stride_y + 1;
  }
  std::size_t out_width() const {
    return (width + pad_left + pad_right - dilation_x * (kernel_x - 1) - 1) / stride_x + 1;
  }
  std::size_t group_channels() const { return channels / groups; }
  std::size_t group_filters() const { return filters / groups; }
  std::size_t reduction() const { return group_channels() * kernel_y * kernel_x; }
};

// Why the sizes do not go together (a zero size, groups that do not divide, a kernel larger than
// the padded input), or null.
const char* objection(const MatMulShape& shape);
const char* objection(const Conv2dShape& shape);

}  // namespace graphcore::arith
