#include "dataset/generated.h"

#include <gmock/gmock.h>

#include <set>

#include "base/testing.h"
#include "tensor/convert.h"

namespace assay::dataset {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

GeneratedOptions one_input(DType dtype, Shape shape, const std::string& name = "x") {
  GeneratedOptions options;
  options.inputs = {{name, dtype, std::move(shape)}};
  return options;
}

template <typename T>
std::vector<T> sample(const GeneratedOptions& options, std::size_t index) {
  const auto set = make_generated(options);
  EXPECT_THAT(set, IsOk());
  if (!set.ok()) return {};
  std::vector<T> values(byte_size((*set)->specs()[0]).value() / sizeof(T));
  const std::span<std::byte> into = std::as_writable_bytes(std::span(values));
  EXPECT_THAT((*set)->read(index, {&into, 1}), IsOk());
  return values;
}

// The values are part of the measurement: a change makes old rows incomparable. Computed by hand
// from SplitMix64 with an independent program.
TEST(Generated, TheSequenceIsPinned) {
  EXPECT_THAT(sample<std::int32_t>(one_input(DType::kInt32, {1, 8}), 0),
              ElementsAre(3, 0, 8, 6, 1, 0, 8, 7));
  EXPECT_THAT(sample<float>(one_input(DType::kFloat32, {1, 3}), 5),
              ElementsAre(0xF80E1Cp-24F, 0xC791B9p-24F, 0x473DFCp-24F));
}

TEST(Generated, SamplesAreDistinctAndRepeatable) {
  const GeneratedOptions options = one_input(DType::kFloat32, {1, 4});
  std::set<std::vector<float>> seen;
  for (std::size_t i = 0; i < 256; ++i) seen.insert(sample<float>(options, i));
  EXPECT_EQ(seen.size(), 256U);
  EXPECT_EQ(sample<float>(options, 7), sample<float>(options, 7));
}

TEST(Generated, TheSeedCounts) {
  GeneratedOptions other = one_input(DType::kFloat32, {1, 4});
  other.seed = 1;
  EXPECT_NE(sample<float>(one_input(DType::kFloat32, {1, 4}), 0), sample<float>(other, 0));
  EXPECT_NE(make_generated(one_input(DType::kFloat32, {1, 4})).value()->fingerprint(),
            make_generated(other).value()->fingerprint());
}

// Zero token ids everywhere would measure a cache, not a model.
TEST(Generated, IntegersAreNotAllZero) {
  const auto values = sample<std::int64_t>(one_input(DType::kInt64, {1, 1000}, "ids"), 0);
  EXPECT_THAT(values, Each(::testing::AllOf(::testing::Ge(0), ::testing::Le(9))));
  EXPECT_EQ(std::set<std::int64_t>(values.begin(), values.end()).size(), 10U);
}

TEST(Generated, RangesHoldBothEndsAndNothingElse) {
  GeneratedOptions options = one_input(DType::kInt8, {1, 2000});
  options.ranges = {{"x", -128, -126}};
  const auto values = sample<std::int8_t>(options, 0);
  EXPECT_EQ(std::set<std::int8_t>(values.begin(), values.end()),
            (std::set<std::int8_t>{-128, -127, -126}));
  GeneratedOptions floats = one_input(DType::kFloat32, {1, 2000});
  floats.ranges = {{"x", -2, 3}};
  const auto spread = sample<float>(floats, 0);
  EXPECT_LT(*std::ranges::min_element(spread), -1.9F);
  EXPECT_GT(*std::ranges::max_element(spread), 2.9F);
  EXPECT_THAT(spread, Each(::testing::AllOf(::testing::Ge(-2.0F), ::testing::Le(3.0F))));
}

TEST(Generated, MasksAreOnesAndSegmentsZeros) {
  EXPECT_THAT(sample<std::int64_t>(one_input(DType::kInt64, {1, 5}, "attention_mask"), 3), Each(1));
  EXPECT_THAT(sample<std::int64_t>(one_input(DType::kInt64, {1, 5}, "token_type_ids"), 3), Each(0));
  GeneratedOptions ranged = one_input(DType::kInt64, {1, 5}, "attention_mask");
  ranged.ranges = {{"attention_mask", 0, 1}};
  EXPECT_THAT(sample<std::int64_t>(ranged, 3), Each(1));
}

TEST(Generated, NarrowFloatsAreTheRoundedWideOnes) {
  const auto wide = sample<float>(one_input(DType::kFloat32, {1, 50}), 2);
  const auto half = sample<std::uint16_t>(one_input(DType::kFloat16, {1, 50}), 2);
  for (std::size_t i = 0; i < wide.size(); ++i) EXPECT_EQ(half[i], float_to_half(wide[i]));
  const auto eight = sample<std::uint8_t>(one_input(DType::kFloat8E4M3, {1, 50}), 2);
  EXPECT_THAT(eight, Each(::testing::Lt(0x38)));  // 0x38 is 1.0
}

TEST(Generated, FreeDimensionsBecomeOne) {
  const auto set = make_generated(one_input(DType::kFloat32, {-1, 3, -1}));
  ASSERT_THAT(set, IsOk());
  EXPECT_THAT((*set)->specs()[0].shape, ElementsAre(1, 3, 1));
}

TEST(Generated, HasNoLabels) {
  const auto set = make_generated(one_input(DType::kFloat32, {1}));
  ASSERT_THAT(set, IsOk());
  EXPECT_EQ((*set)->class_count(), 0);
  EXPECT_EQ((*set)->label(0).value(), Label());
}

TEST(Generated, RefusesRangesThatDoNotFit) {
  const std::vector<InputRange> bad = {
      {"y", 0, 1}, {"x", 0, 256}, {"x", 1, 0}, {"x", 0.5, 1}, {"x", 0, HUGE_VAL}};
  for (const InputRange& range : bad) {
    GeneratedOptions options = one_input(DType::kUInt8, {1});
    options.ranges = {range};
    EXPECT_THAT(make_generated(options), StatusIs(StatusCode::kInvalidArgument, HasSubstr("range")))
        << range.low << ".." << range.high;
  }
}

TEST(Dataset, ReadChecksIndexAndBuffers) {
  const auto set = make_generated(one_input(DType::kFloat32, {1, 2})).value();
  std::array<std::byte, 8> right{};
  std::span<std::byte> into = right;
  EXPECT_THAT(set->read(256, {&into, 1}),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("no sample 256")));
  EXPECT_THAT(set->read(0, {}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("0 buffers")));
  into = into.first(7);
  EXPECT_THAT(set->read(0, {&into, 1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has 7 bytes, 8 are wanted")));
  EXPECT_THAT(set->label(256), StatusIs(StatusCode::kOutOfRange, ::testing::_));
}

}  // namespace
}  // namespace assay::dataset
