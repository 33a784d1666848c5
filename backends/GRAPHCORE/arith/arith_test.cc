// The matrix product and the convolution against their definition in double precision, to the bit.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "arith_test_support.h"
#include "conv2d.h"
#include "matmul.h"
#include "scalar.h"

namespace graphcore::arith {
namespace {

constexpr std::uint64_t kOpKey = 11;

// From small, where fp16 has subnormals, to large, where sums overflow.
constexpr float kScales[] = {0.003F, 1.0F, 120.0F};

struct Outcome {
  std::vector<std::uint32_t> bits;
  std::uint64_t overflows = 0;
  bool operator==(const Outcome&) const = default;
};

// The tasks in turn on a number of threads, the last task first.
Parallel threads(std::size_t count) {
  return [count](std::size_t tasks, const std::function<void(std::size_t)>& task) {
    std::vector<std::jthread> running;
    for (std::size_t t = 0; t < count; ++t) {
      running.emplace_back([&task, tasks, count, t] {
        for (std::size_t i = t; i < tasks; i += count) task(tasks - 1 - i);
      });
    }
  };
}

class EveryArithmetic : public testing::TestWithParam<Arithmetic> {};

INSTANTIATE_TEST_SUITE_P(All, EveryArithmetic, testing::ValuesIn(every_arithmetic()),
                         [](const auto& one) { return name_of(one.param); });

std::vector<MatMulShape> matmul_shapes() {
  return {
      {1, 1, 1, 1},                        // one product
      {1, 3, 5, 7},                        // less than a block
      {1, 7, 16, 64},                      // one block, whole panels
      {1, 13, 33, 65},                     // odd everywhere
      {1, 100, 50, 20},                    // several pieces of rows
      {2, 5, 37, 19},                      // a batch
      {2, 5, 18, 19, true},                // ... of one a
      {3, 4, 18, 33, false, true},         // ... of one b
      {2, 6, 21, 10, false, false, true},  // a transposed
      {2, 6, 21, 10, false, true, false, true},
  };
}

struct MatMulCase {
  MatMulShape shape;
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> bias;
};

MatMulCase matmul_case(const MatMulShape& shape, float scale, const Arithmetic& arithmetic) {
  return {shape, operands(shape.batch * shape.m * shape.k, scale, arithmetic, 1),
          operands(shape.batch * shape.k * shape.n, scale, arithmetic, 2),
          operands(shape.n, scale, arithmetic, 3)};
}

Outcome defined(const MatMulCase& the, const Arithmetic& arithmetic, bool with_bias = true) {
  std::vector<float> out(the.shape.batch * the.shape.m * the.shape.n);
  Counters counters;
  scalar_matmul(the.shape, the.a.data(), the.b.data(), with_bias ? the.bias.data() : nullptr,
                out.data(), arithmetic, kOpKey, counters);
  return {bits_of(out), counters.overflows};
}

Outcome computed(const MatMulCase& the, const Arithmetic& arithmetic, Level level,
                 const Parallel& parallel = {}, bool with_bias = true) {
  std::vector<float> out(the.shape.batch * the.shape.m * the.shape.n);
  Counters counters;
  matmul(the.shape, the.a.data(), the.b.data(), with_bias ? the.bias.data() : nullptr, out.data(),
         arithmetic, kOpKey, counters, parallel, level);
  return {bits_of(out), counters.overflows};
}

TEST_P(EveryArithmetic, MatMulIsAsDefinedAtEveryLevel) {
  std::uint64_t overflows = 0;
  for (const MatMulShape& shape : matmul_shapes()) {
    for (const float scale : kScales) {
      const MatMulCase the = matmul_case(shape, scale, GetParam());
      const Outcome expected = defined(the, GetParam());
      overflows += expected.overflows;
      for (const Level level : usable_levels()) {
        SCOPED_TRACE(std::string(name_of(level)) + " k " + std::to_string(shape.k) + " n " +
                     std::to_string(shape.n) + " scale " + std::to_string(scale));
        EXPECT_EQ(computed(the, GetParam(), level), expected);
      }
    }
  }
  EXPECT_EQ(overflows > 0, GetParam().half_storage);
}

TEST_P(EveryArithmetic, MatMulWithoutBiasIsAsDefined) {
  const MatMulCase the = matmul_case({1, 9, 35, 70}, 1, GetParam());
  const Outcome expected = defined(the, GetParam(), false);
  EXPECT_NE(expected, defined(the, GetParam(), true));
  for (const Level level : usable_levels()) {
    EXPECT_EQ(computed(the, GetParam(), level, {}, false), expected) << name_of(level);
  }
}

TEST_P(EveryArithmetic, ThreadsChangeNothing) {
  const MatMulCase the = matmul_case({2, 200, 40, 130}, 120, GetParam());
  const Outcome alone = computed(the, GetParam(), usable_levels().back());
  for (const std::size_t count : {1U, 2U, 7U}) {
    EXPECT_EQ(computed(the, GetParam(), usable_levels().back(), threads(count)), alone) << count;
  }
}

std::vector<Conv2dShape> conv_shapes() {
  Conv2dShape plain{
      .channels = 3, .height = 9, .width = 11, .filters = 5, .kernel_y = 3, .kernel_x = 3};
  Conv2dShape padded = plain;
  padded.batch = 2;
  padded.pad_top = 1;
  padded.pad_left = 2;
  padded.pad_right = 1;
  Conv2dShape strided = padded;
  strided.stride_y = 2;
  strided.stride_x = 3;
  strided.pad_bottom = 2;
  Conv2dShape dilated = padded;
  dilated.dilation_y = 2;
  dilated.dilation_x = 3;
  Conv2dShape grouped = padded;
  grouped.channels = 6;
  grouped.filters = 9;
  grouped.groups = 3;
  Conv2dShape pointwise{.batch = 2, .channels = 17, .height = 7, .width = 5, .filters = 8};
  Conv2dShape large = plain;  // more than the padding around it
  large.height = large.width = 2;
  large.kernel_y = large.kernel_x = 5;
  large.pad_top = large.pad_left = large.pad_bottom = large.pad_right = 3;
  Conv2dShape strided_pointwise = pointwise;
  strided_pointwise.stride_y = strided_pointwise.stride_x = 2;
  Conv2dShape depthwise{.batch = 2,
                        .channels = 3,
                        .height = 8,
                        .width = 9,
                        .filters = 3,
                        .groups = 3,
                        .kernel_y = 3,
                        .kernel_x = 3};
  depthwise.pad_top = depthwise.pad_left = depthwise.pad_bottom = 1;
  Conv2dShape depthwise_strided = depthwise;
  depthwise_strided.stride_y = depthwise_strided.stride_x = 2;
  depthwise_strided.kernel_y = depthwise_strided.kernel_x = 5;
  Conv2dShape depthwise_multiplied = depthwise_strided;
  depthwise_multiplied.filters = 6;
  depthwise_multiplied.dilation_x = 2;
  depthwise_multiplied.stride_x = 3;
  depthwise_multiplied.kernel_y = 1;
  depthwise_multiplied.kernel_x = 3;
  Conv2dShape wide_steps{.channels = 2,
                         .height = 2,
                         .width = 2,
                         .filters = 2,
                         .groups = 2,
                         .stride_y = 3,
                         .stride_x = 4};
  return {plain,
          padded,
          strided,
          dilated,
          grouped,
          pointwise,
          large,
          strided_pointwise,
          depthwise,
          depthwise_strided,
          depthwise_multiplied,
          wide_steps};
}

struct ConvCase {
  Conv2dShape shape;
  std::vector<float> input;
  std::vector<float> weights;
  std::vector<float> bias;
  std::vector<float> out;
};

ConvCase conv_case(const Conv2dShape& shape, float scale, const Arithmetic& arithmetic) {
  return {shape,
          operands(shape.batch * shape.channels * shape.height * shape.width, scale, arithmetic, 4),
          operands(shape.filters * shape.reduction(), scale, arithmetic, 5),
          operands(shape.filters, scale, arithmetic, 6),
          std::vector<float>(shape.batch * shape.filters * shape.out_height() * shape.out_width())};
}

Outcome defined(ConvCase the, const Arithmetic& arithmetic) {
  Counters counters;
  scalar_conv2d(the.shape, the.input.data(), the.weights.data(), the.bias.data(), the.out.data(),
                arithmetic, kOpKey, counters);
  return {bits_of(the.out), counters.overflows};
}

Outcome computed(ConvCase the, const Arithmetic& arithmetic, Level level,
                 const Parallel& parallel = {}) {
  Counters counters;
  conv2d(the.shape, the.input.data(), the.weights.data(), the.bias.data(), the.out.data(),
         arithmetic, kOpKey, counters, parallel, level);
  return {bits_of(the.out), counters.overflows};
}

TEST_P(EveryArithmetic, Conv2dIsAsDefinedAtEveryLevel) {
  std::size_t number = 0;
  std::uint64_t overflows = 0;
  for (const Conv2dShape& shape : conv_shapes()) {
    ++number;
    ASSERT_EQ(objection(shape), nullptr) << number;
    for (const float scale : kScales) {
      const ConvCase the = conv_case(shape, scale, GetParam());
      const Outcome expected = defined(the, GetParam());
      overflows += expected.overflows;
      for (const Level level : usable_levels()) {
        SCOPED_TRACE(std::string(name_of(level)) + " shape " + std::to_string(number) + " scale " +
                     std::to_string(scale));
        EXPECT_EQ(computed(the, GetParam(), level), expected);
        EXPECT_EQ(computed(the, GetParam(), level, threads(3)), expected);
      }
    }
  }
  EXPECT_EQ(overflows > 0, GetParam().half_storage);
}

// Worked by hand: 2048 + 1 is not an fp16 value, and the tie goes to 2048.
TEST(MatMul, HalfPartialsLoseWhatFloatPartialsKeep) {
  const MatMulShape shape{1, 1, 32, 1};
  std::vector<float> a(32, 0.0F);
  a[0] = 2048;  // in the first block
  a[16] = 1;    // in the second
  a[17] = 0.5F;
  const std::vector<float> ones(32, 1.0F);
  Arithmetic arithmetic;
  float out = 0;
  Counters counters;
  matmul(shape, a.data(), ones.data(), nullptr, &out, arithmetic, 0, counters);
  EXPECT_EQ(out, 2050);  // 2049.5 rounded once
  a[17] = 0;
  a[31] = 0;
  arithmetic.partials = Partials::kHalf;
  const float bias = 1;
  matmul(shape, a.data(), ones.data(), &bias, &out, arithmetic, 0, counters);
  EXPECT_EQ(out, 2048);  // 2049 became 2048, and again with the bias
  arithmetic.partials = Partials::kFloat;
  matmul(shape, a.data(), ones.data(), &bias, &out, arithmetic, 0, counters);
  EXPECT_EQ(out, 2050);
}

// 60000 + 60000 - 60000, a block each: float partials come back, half partials do not.
TEST(MatMul, APartialSaturatesAndIsCounted) {
  const MatMulShape shape{1, 1, 48, 1};
  std::vector<float> a(48, 0.0F);
  a[0] = a[16] = 60000;
  a[32] = -60000;
  const std::vector<float> ones(48, 1.0F);
  const auto result = [&](Partials partials, Overflow overflow, std::uint64_t overflows) {
    Counters counters;
    float out = 0;
    matmul(shape, a.data(), ones.data(), nullptr, &out,
           {.partials = partials, .overflow = overflow}, 0, counters);
    EXPECT_EQ(counters.overflows, overflows);
    return out;
  };
  // 60000 rounds to 60000; fp16's steps are 32 there.
  EXPECT_EQ(result(Partials::kFloat, Overflow::kSaturate, 0), 60000);
  EXPECT_EQ(result(Partials::kHalf, Overflow::kSaturate, 1), 5504);  // 65504 - 60000
  EXPECT_TRUE(std::isnan(result(Partials::kHalf, Overflow::kNan, 1)));
}

// In fp32 a block is four products: 1e8 swallows the ones of its own block only.
TEST(MatMul, Fp32SumsInBlocksOfFour) {
  const std::vector<float> a{1e8F, 1, 1, 1, 1, 1, 1, 1, -1e8F, 0, 0, 0};
  const std::vector<float> ones(a.size(), 1.0F);
  float out = -1;
  Counters counters;
  matmul({1, 1, a.size(), 1}, a.data(), ones.data(), nullptr, &out, {.half_storage = false}, 0,
         counters);
  // 1e8 + 4 is half way between floats 8 apart; the tie goes to 1e8.
  EXPECT_EQ(out, 0);
  const std::vector<float> regrouped{1e8F, 0, 0, 0, 1, 1, 1, 3, -1e8F, 0, 0, 0};
  matmul({1, 1, a.size(), 1}, regrouped.data(), ones.data(), nullptr, &out, {.half_storage = false},
         0, counters);
  EXPECT_EQ(out, 8);
}

TEST(MatMul, NanAndInfinityPassThroughFp32AndHaveOneForm) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> a{infinity, 1, -infinity, 1};
  const std::vector<float> b{1, 1, 1, 0};
  for (const Level level : usable_levels()) {
    std::vector<float> out(4);
    Counters counters;
    matmul({1, 2, 2, 2}, a.data(), b.data(), nullptr, out.data(), {.half_storage = false}, 0,
           counters, {}, level);
    EXPECT_EQ(bits_of(out),
              (std::vector<std::uint32_t>{0x7F800000, 0x7F800000, 0xFF800000, 0xFF800000}));
    const std::vector<float> both{infinity, -infinity, -infinity, infinity};
    matmul({1, 2, 2, 2}, both.data(), b.data(), nullptr, out.data(), {.half_storage = false}, 0,
           counters, {}, level);
    EXPECT_EQ(bits_of(out), std::vector<std::uint32_t>(4, 0x7FC00000)) << name_of(level);
  }
}

TEST(MatMul, APackedMatrixServesAnyNumberOfRows) {
  const Arithmetic arithmetic;
  MatMulShape shape{1, 3, 20, 70, false, true};
  const MatMulCase small = matmul_case(shape, 1, arithmetic);
  const PackedMatrix packed = pack(shape, small.b.data());
  shape.m = 40;
  MatMulCase large = matmul_case(shape, 1, arithmetic);
  large.b = small.b;
  std::vector<float> out(40 * 70);
  Counters counters;
  matmul(shape, large.a.data(), packed, large.bias.data(), out.data(), arithmetic, kOpKey,
         counters);
  EXPECT_EQ(bits_of(out), defined(large, arithmetic).bits);
}

TEST(Shapes, ObjectionsNameWhatIsWrong) {
  EXPECT_STREQ(objection(MatMulShape{1, 2, 0, 3}), "a size is zero");
  EXPECT_EQ(objection(MatMulShape{1, 2, 1, 3}), nullptr);
  Conv2dShape shape{.channels = 4, .height = 3, .width = 3, .filters = 6, .groups = 3};
  EXPECT_STREQ(objection(shape), "the groups do not divide the channels");
  shape.channels = 3;
  shape.filters = 4;
  EXPECT_STREQ(objection(shape), "the groups do not divide the filters");
  shape.filters = 3;
  shape.kernel_y = 5;
  shape.pad_top = 1;
  EXPECT_STREQ(objection(shape), "the kernel is larger than the padded input");
  shape.pad_bottom = 1;
  EXPECT_EQ(objection(shape), nullptr);
  shape.stride_x = 0;
  EXPECT_STREQ(objection(shape), "a size, stride or dilation is zero");
}

}  // namespace
}  // namespace graphcore::arith
