#include "controller/reference_noise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace assay::controller {
namespace {

TEST(NoiseOfPrecision, TheCoarsestNamedCounts) {
  EXPECT_EQ(noise_of_precision("FP32")->precision, "FP32");
  EXPECT_EQ(noise_of_precision("INT8+FP32")->precision, "INT8");
  EXPECT_EQ(noise_of_precision("fp16, fp32")->precision, "FP16");
  EXPECT_EQ(noise_of_precision("BFLOAT16")->precision, "BF16");
  EXPECT_EQ(noise_of_precision("TF32")->precision, "FP16");
  EXPECT_FALSE(noise_of_precision("posit<16,1>").has_value());
  EXPECT_EQ(noise_of_precision("FP8+FP32")->precision, "FP8");
  EXPECT_FALSE(noise_of_precision("").has_value());
}

// What we have no bound of is not held to that of what stands beside it.
TEST(NoiseOfPrecision, ACoarserOneThatIsNotKnownHasNone) {
  for (const char* declared : {"INT4+FP16", "uint4, fp32", "MXFP4/BF16", "INT16+FP32", "int16_mix"})
    EXPECT_FALSE(noise_of_precision(declared).has_value()) << declared;
}

TEST(NoiseOfPrecision, IsOfTheTypesUnit) {
  EXPECT_EQ(noise_of_precision("FP32")->noise.unit, 0x1p-19);  // sqrt(1024) of 2^-24
  EXPECT_EQ(noise_of_precision("FP16")->noise.unit, 0x1p-11);
  EXPECT_EQ(noise_of_precision("BF16")->noise.unit, 0x1p-8);
  EXPECT_EQ(noise_of_precision("INT8")->noise.unit, 1.0 / 254);
  EXPECT_EQ(noise_of_precision("INT8")->noise.scope, NoiseScope::kTensor);
}

// One sample: {x floats}, {whole numbers}.
class TwoInputs final : public dataset::Dataset {
 public:
  TwoInputs(std::vector<float> values, bool with_float)
      : Dataset(facts_of(values.size(), with_float)), values_(std::move(values)) {}
  std::string sample_id(std::size_t /*index*/) const override { return "0"; }

 private:
  static dataset::DatasetFacts facts_of(std::size_t n, bool with_float) {
    const auto size = static_cast<std::int64_t>(n);
    dataset::DatasetFacts facts{.name = "two", .size = 1, .fingerprint = "f"};
    facts.inputs = {{"x", with_float ? DType::kFloat32 : DType::kInt32, {1, size}}};
    return facts;
  }
  Status read_sample(std::size_t /*index*/,
                     std::span<const std::span<std::byte>> into) const override {
    std::memcpy(into[0].data(), values_.data(), into[0].size());
    return ok_status();
  }
  Result<dataset::Label> read_label(std::size_t /*index*/) const override {
    return dataset::Label{};
  }
  std::vector<float> values_;
};

// Sample i holds i.
class Numbers final : public dataset::Dataset {
 public:
  explicit Numbers(std::size_t size)
      : Dataset({.name = "numbers",
                 .size = size,
                 .inputs = {{"x", DType::kInt64, {1}}},
                 .fingerprint = "n"}) {}
  std::string sample_id(std::size_t index) const override { return std::to_string(index); }

 private:
  Status read_sample(std::size_t index, std::span<const std::span<std::byte>> into) const override {
    const auto value = static_cast<std::int64_t>(index);
    std::memcpy(into[0].data(), &value, sizeof value);
    return ok_status();
  }
  Result<dataset::Label> read_label(std::size_t index) const override {
    return dataset::Label(static_cast<std::int64_t>(index));
  }
};

std::vector<std::int64_t> chosen(std::size_t size, std::uint64_t of, std::uint64_t count) {
  const Numbers base(size);
  const auto some = evenly_chosen(base, of, count);
  std::vector<std::int64_t> values(some->size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(some->read(i, {{std::as_writable_bytes(std::span(&values[i], 1))}}).ok());
    EXPECT_EQ(some->sample_id(i), std::to_string(values[i]));
  }
  return values;
}

TEST(EvenlyChosen, SamplesAreSpreadOverThoseOfTheRun) {
  EXPECT_EQ(chosen(100, 10, 4), (std::vector<std::int64_t>{0, 2, 5, 7}));
  EXPECT_EQ(chosen(3, 3, 3), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(chosen(3, 2, 1), (std::vector<std::int64_t>{0}));
}

TEST(EvenlyChosen, OthersHaveAnotherFingerprint) {
  const Numbers base(100);
  EXPECT_NE(evenly_chosen(base, 10, 4)->fingerprint(), evenly_chosen(base, 20, 4)->fingerprint());
}

TEST(MovedByAUnit, EveryElementIsItsNeighbour) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1.0F, -1.0F, 0.0F, -0.0F, infinity, 3e38F, 1e-45F, 0.1F};
  const TwoInputs base(values, true);
  const auto moved = moved_by_a_unit(base, 7);
  ASSERT_NE(moved, nullptr);
  std::vector<float> got(values.size());
  const std::span<std::byte> buffer = std::as_writable_bytes(std::span(got));
  ASSERT_TRUE(moved->read(0, {{buffer}}).ok());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    if (value == 0 || std::isinf(value)) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(value)) << i;
      continue;
    }
    const bool up = got[i] == std::nextafter(value, infinity);
    const bool down = got[i] == std::nextafter(value, -infinity);
    EXPECT_TRUE(up || down) << value << " became " << got[i];
  }
  std::vector<float> again(values.size());
  ASSERT_TRUE(moved->read(0, {{std::as_writable_bytes(std::span(again))}}).ok());
  EXPECT_EQ(again, got);
}

TEST(MovedByAUnit, NeedsAFloat) {
  EXPECT_EQ(moved_by_a_unit(TwoInputs({1.0F}, false), 7), nullptr);
}

}  // namespace
}  // namespace assay::controller
