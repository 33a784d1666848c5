#include "check/numeric.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/testing.h"
#include "check/numeric_verdict.h"
#include "tensor/convert.h"

namespace assay::check {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <typename T>
NumericResult compare(const std::vector<T>& reference, const std::vector<T>& got, DType dtype,
                      const NumericOptions& options = {}) {
  const TensorSpec spec{"y", dtype, {static_cast<std::int64_t>(reference.size())}};
  Result<NumericComparison> comparison = NumericComparison::create(spec, spec, options);
  EXPECT_THAT(comparison, IsOk());
  EXPECT_THAT(comparison->add(7, bytes(reference), bytes(got)), IsOk());
  return comparison->finish();
}

NumericResult compare(const std::vector<float>& reference, const std::vector<float>& got,
                      const NumericOptions& options = {}) {
  return compare(reference, got, DType::kFloat32, options);
}

TEST(NumericNonFinite, NanOnOneSideIsAMismatchAndFails) {
  const NumericResult result = compare({1, 2}, {kNaN, 2});
  EXPECT_EQ(result.nonfinite_mismatches, 1U);
  EXPECT_EQ(result.compared, 1U);
  EXPECT_FALSE(result.identical);
  EXPECT_EQ(judge_numeric(result, {}).verdict, Verdict::kFail);
  EXPECT_EQ(judge_numeric(result, {.tolerance_named = true}).verdict, Verdict::kFail);
}

TEST(NumericNonFinite, AllNanBackendAgainstNearZeroReferenceFailsAndHasNoMean) {
  const NumericResult result = compare({0, 0, 1e-3F}, {kNaN, kNaN, kNaN});
  EXPECT_EQ(result.nonfinite_mismatches, 3U);
  EXPECT_FALSE(result.mean_abs.has_value());
  EXPECT_FALSE(result.cosine.has_value());
  EXPECT_TRUE(to_json(result)["mean_abs"].is_null());
  EXPECT_EQ(judge_numeric(result, {}).verdict, Verdict::kFail);
}

TEST(NumericNonFinite, NanAndInfAreNeverTakenAsZero) {
  const NumericResult result = compare({0, 0, 1e-3F}, {kNaN, kInf, 1e-3F});
  EXPECT_EQ(result.nonfinite_mismatches, 2U);
  EXPECT_EQ(result.compared, 1U);
  EXPECT_EQ(result.max_abs, 0.0);
}

TEST(NumericNonFinite, NanOnBothSidesIsCountedAndExcluded) {
  const NumericResult result = compare({kNaN, 1}, {kNaN, 1});
  EXPECT_EQ(result.nan_both, 1U);
  EXPECT_EQ(result.nonfinite_mismatches, 0U);
  EXPECT_TRUE(result.identical);
  EXPECT_EQ(judge_numeric(result, {}).verdict, Verdict::kNotJudged);
  EXPECT_EQ(judge_numeric(compare({2, 1}, {2, 1}), {}).verdict, Verdict::kPass);
}

TEST(NumericNonFinite, InfinitiesAreEqualOnlyWithTheSameSign) {
  const NumericResult result = compare({kInf, kInf, -kInf, kInf}, {kInf, -kInf, 1, kNaN});
  EXPECT_EQ(result.inf_both, 1U);
  EXPECT_EQ(result.nonfinite_mismatches, 3U);
}

TEST(NumericRelative, ReferencesBelowAtolAreLeftOutOfRelativeAndUlpFigures) {
  const NumericResult result = compare({0, 1}, {1e-8F, 1});
  EXPECT_EQ(result.relative_elements, 1U);
  EXPECT_EQ(result.max_rel, 0.0);
  EXPECT_EQ(result.ulp->max, 0.0);
  EXPECT_DOUBLE_EQ(*result.max_abs, static_cast<double>(1e-8F));
  EXPECT_EQ(result.outside_tolerance, 0.0);
}

TEST(NumericRelative, ZeroReferenceIsLeftOutEvenWithoutAtol) {
  NumericOptions options;
  options.atol = 0.0;
  const NumericResult result = compare({0, 2}, {1, 3}, options);
  EXPECT_EQ(result.relative_elements, 1U);
  EXPECT_EQ(result.max_rel, 0.5);
  EXPECT_EQ(result.outside_tolerance, 1.0);
}

TEST(NumericRelative, OnlyZeroReferencesHaveNoRelativeFigure) {
  const NumericResult result = compare({0, 0}, {1, 1});
  EXPECT_FALSE(result.max_rel.has_value());
  EXPECT_FALSE(result.ulp.has_value());
}

TEST(NumericTolerance, IsAtolPlusRtolTimesTheReference) {
  NumericOptions options;
  options.atol = 0.5;
  options.rtol = 0.25;  // at 2: 1.0 allowed
  const NumericResult result = compare({2, 2, 2, 0}, {3, 3.125F, 1, 0.75F}, options);
  EXPECT_EQ(result.outside_tolerance, 0.5);
  EXPECT_EQ(judge_numeric(result, {.tolerance_named = true}).verdict, Verdict::kFail);
  EXPECT_EQ(judge_numeric(result, {}).verdict, Verdict::kNotJudged);
  options.atol = 0.75;
  EXPECT_EQ(judge_numeric(compare({2, 2, 2, 0}, {3, 3.125F, 1, 0.75F}, options),
                          {.tolerance_named = true})
                .verdict,
            Verdict::kPass);
}

TEST(NumericTolerance, NegativeOrNanIsRefused) {
  const TensorSpec spec{"y", DType::kFloat32, {1}};
  NumericOptions options;
  options.rtol = std::nan("");
  EXPECT_THAT(NumericComparison::create(spec, spec, options),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("rtol nan")));
}

TEST(NumericOptions, WithoutHistogramsEveryOtherFigureIsTheSame) {
  NumericOptions options;
  const std::vector<float> reference{1, 2, 3, 0, -5};
  const std::vector<float> got{1, 2.5F, 3, 1e-7F, -5.25F};
  Json all = to_json(compare(reference, got, options));
  options.ulp_distribution = false;
  options.plots = false;
  const NumericResult result = compare(reference, got, options);
  EXPECT_FALSE(result.ulp->p50.has_value());
  EXPECT_FALSE(result.ulp->p99.has_value());
  EXPECT_TRUE(result.magnitude.counts.empty());
  EXPECT_TRUE(result.signed_difference.counts.empty());
  Json figures = to_json(result);
  for (Json* json : {&all, &figures}) {
    json->erase("histograms");
    (*json)["ulp"].erase("p50");
    (*json)["ulp"].erase("p99");
  }
  EXPECT_EQ(figures, all);
}

TEST(NumericWorst, ElementIsFoundInTheBlockThatItIsIn) {
  const std::vector<float> reference(2000, 1.0F);
  std::vector<float> got = reference;
  got[3] = 1.5F;
  got[1700] = 3.0F;
  got[1900] = 3.0F;  // as large, but later
  NumericResult result = compare(reference, got);
  EXPECT_EQ(result.worst[0].element, 1700U);
  EXPECT_EQ(result.worst[0].got, 3.0);
  got[900] = kNaN;
  result = compare(reference, got);
  EXPECT_EQ(result.worst[0].element, 900U);
}

TEST(NumericCosine, TwoZeroVectorsAreOneAndOneZeroVectorIsZero) {
  EXPECT_EQ(compare({0, 0}, {0, -0.0F}).cosine, 1.0);
  EXPECT_EQ(compare({1, 0}, {0, 0}).cosine, 0.0);
  EXPECT_EQ(compare({0, 0}, {1, 0}).cosine, 0.0);
  EXPECT_EQ(compare({1, 0}, {0, 1}).cosine, 0.0);
  EXPECT_EQ(compare({1, 0}, {-1, 0}).cosine, -1.0);
}

TEST(NumericCosine, OfIdenticalOutputsIsExactlyOne) {
  EXPECT_EQ(compare({0.1F, 0.7F, 0.3F}, {0.1F, 0.7F, 0.3F}).cosine, 1.0);
}

TEST(NumericCosine, OneBadSampleShowsInTheMinimum) {
  const TensorSpec spec{"y", DType::kFloat32, {2}};
  auto comparison = NumericComparison::create(spec, spec, {});
  const std::vector<float> large{1000, 0};
  const std::vector<float> small{0, 0.001F};
  const std::vector<float> turned{0.001F, 0};
  ASSERT_THAT(comparison->add(0, bytes(large), bytes(large)), IsOk());
  ASSERT_THAT(comparison->add(1, bytes(small), bytes(turned)), IsOk());
  const NumericResult result = comparison->finish();
  EXPECT_GT(*result.cosine, 0.999999);
  EXPECT_EQ(result.min_sample_cosine, 0.0);
}

TEST(NumericSnr, OfIdenticalOutputsIsNullWithTheFlag) {
  const NumericResult result = compare({1, 2}, {1, 2});
  EXPECT_FALSE(result.snr_db.has_value());
  const Json json = to_json(result);
  EXPECT_TRUE(json["snr_db"].is_null());
  EXPECT_EQ(json["snr_infinite"], true);
}

TEST(NumericSnr, IsTenLogOfThePowers) {
  EXPECT_NEAR(*compare({10, 0}, {10, 1}).snr_db, 20.0, 1e-12);
  EXPECT_FALSE(compare({0, 0}, {1, 1}).snr_db.has_value());
  EXPECT_EQ(to_json(compare({0, 0}, {1, 1}))["snr_infinite"], false);
}

TEST(NumericUlp, NeighbouringFloatsAreOneUnitApart) {
  const NumericResult result = compare({1.0F, 100.0F}, {std::nextafter(1.0F, 2.0F), 100.0F});
  EXPECT_EQ(result.ulp->max, 1.0);
  EXPECT_EQ(result.ulp->p50, 0.0);
  EXPECT_EQ(result.ulp->p99, 1.0);
  EXPECT_EQ(result.ulp->unit, DType::kFloat32);
}

TEST(NumericUlp, NegativeZeroEqualsPositiveZero) {
  NumericOptions options;
  options.atol = 0.0;
  const NumericResult result = compare({0.0F, -0.0F}, {-0.0F, 0.0F}, options);
  EXPECT_TRUE(result.identical);
  EXPECT_EQ(result.max_abs, 0.0);
  EXPECT_EQ(result.outside_tolerance, 0.0);
}

TEST(NumericUlp, IsInUnitsOfTheExecutedPrecision) {
  NumericOptions options;
  options.executed_precision = DType::kBFloat16;
  // 1 + 2^-7 is the bfloat16 after 1.
  const NumericResult result = compare({1.0F}, {1.0F + 0x1p-7F}, options);
  EXPECT_EQ(result.ulp->unit, DType::kBFloat16);
  EXPECT_EQ(result.ulp->max, 1.0);
}

TEST(NumericUlp, IsInUnitsOfTheCoarserOutputType) {
  const std::vector<float> reference{1.0F};
  const std::vector<std::uint16_t> got{float_to_half(1.0F + 0x1p-9F)};
  auto comparison =
      NumericComparison::create({"y", DType::kFloat32, {1}}, {"y", DType::kFloat16, {1}}, {});
  ASSERT_THAT(comparison->add(0, bytes(reference), bytes(got)), IsOk());
  EXPECT_EQ(comparison->finish().ulp->unit, DType::kFloat16);
  EXPECT_EQ(comparison->finish().ulp->max, 2.0);
}

TEST(NumericUlp, HoldsFromTheSmallestToTheLargestDouble) {
  NumericOptions options;
  options.atol = 0.0;
  const double least = std::numeric_limits<double>::denorm_min();
  const double most = std::numeric_limits<double>::max();
  const NumericResult result = compare<double>(
      {least, 0x1p-1022, most}, {2 * least, 0x1p-1022 + least, std::nextafter(most, 0)},
      DType::kFloat64, options);
  EXPECT_EQ(result.ulp->max, 1.0);
  EXPECT_EQ(result.ulp->p50, 1.0);
}

TEST(NumericInteger, IsComparedExactlyAndHasNoUlp) {
  const NumericResult result =
      compare<std::int64_t>({1, 1LL << 60}, {1, (1LL << 60) + 1}, DType::kInt64);
  EXPECT_FALSE(result.ulp.has_value());
  EXPECT_EQ(result.differing, 1U);
  EXPECT_EQ(result.max_abs, 1.0);
  EXPECT_EQ(result.outside_tolerance, 0.5);
  EXPECT_TRUE(to_json(result)["ulp"].is_null());
}

TEST(NumericInteger, ExtremesOfSixtyFourBitsDoNotWrap) {
  const auto low = std::numeric_limits<std::int64_t>::min();
  const auto high = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(compare<std::int64_t>({low}, {high}, DType::kInt64).max_abs, 0x1p64);
}

TEST(NumericShape, ScalarIsOneElement) {
  const TensorSpec spec{"y", DType::kFloat32, {}};
  auto comparison = NumericComparison::create(spec, spec, {});
  const std::vector<float> one{1};
  const std::vector<float> two{2};
  ASSERT_THAT(comparison->add(0, bytes(one), bytes(two)), IsOk());
  EXPECT_EQ(comparison->finish().elements, 1U);
  EXPECT_EQ(comparison->finish().max_abs, 1.0);
}

TEST(NumericShape, EmptyOutputsAreLegalAndEqual) {
  const TensorSpec spec{"boxes", DType::kFloat32, {0, 4}};
  auto comparison = NumericComparison::create(spec, spec, {});
  ASSERT_THAT(comparison->add(0, {}, {}), IsOk());
  const NumericResult result = comparison->finish();
  EXPECT_TRUE(result.identical);
  EXPECT_EQ(result.samples, 1U);
  EXPECT_EQ(result.elements, 0U);
  EXPECT_FALSE(result.max_abs.has_value());
  EXPECT_EQ(judge_numeric(result, {.tolerance_named = true}).verdict, Verdict::kPass);
}

TEST(NumericShape, AnotherShapeIsAFailureNamingBothEvenAtTheSameSize) {
  EXPECT_THAT(
      NumericComparison::create({"y", DType::kFloat32, {1, 3, 4}},
                                {"y", DType::kFloat32, {1, 4, 3}}, {}),
      StatusIs(StatusCode::kFailedPrecondition, AllOf(HasSubstr("[1,3,4]"), HasSubstr("[1,4,3]"))));
}

TEST(NumericShape, AnotherNameOrKindIsAFailureNamingBoth) {
  const TensorSpec spec{"prob", DType::kFloat32, {2}};
  EXPECT_THAT(check_comparable(spec, {"logits", DType::kFloat32, {2}}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("\"prob\""), HasSubstr("\"logits\""))));
  EXPECT_THAT(
      check_comparable(spec, {"prob", DType::kInt32, {2}}),
      StatusIs(StatusCode::kFailedPrecondition, AllOf(HasSubstr("FLOAT32"), HasSubstr("INT32"))));
}

TEST(NumericShape, WrongByteSizeIsRefusedNamingTheSample) {
  const TensorSpec spec{"y", DType::kFloat32, {2}};
  auto comparison = NumericComparison::create(spec, spec, {});
  const std::vector<float> three{1, 2, 3};
  const std::vector<float> two{1, 2};
  EXPECT_THAT(comparison->add(41, bytes(two), bytes(three)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("sample 41")));
}

TEST(NumericWorst, SamplesAreNamedWorstFirstWithElementAndValues) {
  const TensorSpec spec{"y", DType::kFloat32, {2}};
  NumericOptions options;
  options.worst_samples = 2;
  auto comparison = NumericComparison::create(spec, spec, options);
  const std::vector<float> reference{1, 2};
  const std::vector<std::vector<float>> got{{1, 2}, {1, 2.5F}, {1, 4}, {kNaN, 2}, {1, 3}};
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_THAT(comparison->add(100 + i, bytes(reference), bytes(got[i])), IsOk());
  }
  const NumericResult result = comparison->finish();
  ASSERT_EQ(result.worst.size(), 2U);
  EXPECT_EQ(result.worst[0].sample_id, 103U);
  EXPECT_EQ(result.worst[0].nonfinite_mismatches, 1U);
  EXPECT_EQ(result.worst[0].element, 0U);
  EXPECT_EQ(result.worst[1].sample_id, 102U);
  EXPECT_EQ(result.worst[1].element, 1U);
  EXPECT_EQ(result.worst[1].reference, 2.0);
  EXPECT_EQ(result.worst[1].got, 4.0);
  EXPECT_EQ(result.samples_differing, 4U);
  const Json json = to_json(result);
  EXPECT_EQ(json["worst"][0]["got"], "NaN");
  EXPECT_TRUE(json["worst"][0]["max_abs"].is_null());
}

TEST(NumericAgreement, CountsTheSameBestClassAndSharedFive) {
  const TensorSpec spec{"logits", DType::kFloat32, {6}};
  NumericOptions options;
  options.class_scores = {"logits"};
  auto comparison = NumericComparison::create(spec, spec, options);
  const std::vector<float> reference{6, 5, 4, 3, 2, 1};
  const std::vector<float> same{60, 5, 4, 3, 2, 1};
  const std::vector<float> flipped{5, 6, 4, 3, 1, 2};  // five best lose class 4, gain class 5
  ASSERT_THAT(comparison->add(0, bytes(reference), bytes(same)), IsOk());
  ASSERT_THAT(comparison->add(1, bytes(reference), bytes(flipped)), IsOk());
  EXPECT_EQ(comparison->finish().top1_agreement, 0.5);
  EXPECT_DOUBLE_EQ(*comparison->finish().top5_agreement, 0.9);
  EXPECT_FALSE(compare({1}, {1}).top1_agreement.has_value());
}

TEST(NumericHistogram, CountsEveryComparedElementOnce) {
  const NumericResult result = compare({0, 0, 0, 0, kNaN}, {0.25F, -0.25F, 0, 3, kNaN});
  std::uint64_t signed_total = 0;
  for (const std::uint64_t count : result.signed_difference.counts) signed_total += count;
  EXPECT_EQ(signed_total, 4U);
  EXPECT_EQ(result.signed_difference.low, -4.0);
  EXPECT_EQ(result.magnitude.zeros, 1U);
  // 0.25 lies in [2^-2, 2^-1), 3 in [2^1, 2^2)
  const auto bin = [&](int exponent) {
    return result.magnitude
        .counts[static_cast<std::size_t>(exponent - result.magnitude.low_exponent)];
  };
  EXPECT_EQ(bin(-2), 2U);
  EXPECT_EQ(bin(1), 1U);
}

TEST(NumericOverflow, FiguresBeyondADoubleAreNullAndNeverInfinite) {
  const double most = std::numeric_limits<double>::max();
  const NumericResult result = compare<double>({most, 1}, {-most, 1}, DType::kFloat64);
  EXPECT_EQ(result.nonfinite_mismatches, 0U);
  EXPECT_EQ(result.differing, 1U);
  EXPECT_FALSE(result.max_abs.has_value());
  EXPECT_FALSE(result.rmse.has_value());
  EXPECT_TRUE(to_json(result)["max_abs"].is_null());
  EXPECT_TRUE(to_json(result)["ulp"]["max"].is_null());
}

TEST(NumericLegacy, KeysCombineAllOutputsUnrounded) {
  const NumericResult a = compare({1, 1}, {2, 1});      // |d| = 1, 0
  const NumericResult b = compare({10, 10}, {13, 10});  // |d| = 3, 0
  const Json json = legacy_difference({a, b});
  EXPECT_DOUBLE_EQ(json["Mean Diff"].get<double>(), 1.0);
  EXPECT_DOUBLE_EQ(json["Std Diff"].get<double>(), std::sqrt(1.5));
  EXPECT_DOUBLE_EQ(json["Max Diff"].get<double>(), 3.0);
  EXPECT_DOUBLE_EQ(json["Max Rel-Diff"].get<double>(), 1.0);
  EXPECT_NEAR(json["Mean Rel-Diff"].get<double>(), 1.3 / 4, 1e-15);
  EXPECT_TRUE(legacy_difference({})["Mean Diff"].is_null());
}

constexpr std::uint32_t kSeed = 20261130;

// The plain definition, element by element, in long double.
struct Naive {
  long double max_abs = 0, sum_abs = 0, sum_squared = 0, max_rel = 0, dot = 0, rr = 0, gg = 0;
  std::uint64_t mismatches = 0, n = 0;
};
Naive naive(const std::vector<float>& reference, const std::vector<float>& got, double atol) {
  Naive out;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const long double r = reference[i];
    const long double g = got[i];
    if (!std::isfinite(reference[i]) || !std::isfinite(got[i])) {
      const bool same = reference[i] == got[i] || (std::isnan(reference[i]) && std::isnan(got[i]));
      out.mismatches += same ? 0U : 1U;
      continue;
    }
    ++out.n;
    const long double d = std::fabs(g - r);
    out.max_abs = std::max(out.max_abs, d);
    out.sum_abs += d;
    out.sum_squared += d * d;
    if (std::fabs(r) >= atol) out.max_rel = std::max(out.max_rel, d / std::fabs(r));
    out.dot += r * g;
    out.rr += r * r;
    out.gg += g * g;
  }
  return out;
}

TEST(NumericProperty, RandomOutputsEqualTheNaiveDefinition) {
  std::mt19937 generator(kSeed);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", round " << round);
    const std::size_t size = 1 + generator() % 2000;
    std::vector<float> reference(size);
    std::vector<float> got(size);
    for (std::size_t i = 0; i < size; ++i) {
      const float scale = std::ldexp(1.0F, static_cast<int>(generator() % 40) - 20);
      reference[i] = scale * (static_cast<float>(generator() % 2001) - 1000.0F) / 1000.0F;
      got[i] = reference[i] + scale * 1e-4F * static_cast<float>(generator() % 3);
      if (generator() % 97 == 0) reference[i] = kNaN;
      if (generator() % 97 == 0) got[i] = generator() % 2 == 0 ? kInf : kNaN;
    }
    const Naive want = naive(reference, got, 1e-6);
    const NumericResult result = compare(reference, got);
    EXPECT_EQ(result.nonfinite_mismatches, want.mismatches);
    EXPECT_EQ(result.compared, want.n);
    if (want.n == 0) continue;
    const auto n = static_cast<long double>(want.n);
    EXPECT_DOUBLE_EQ(*result.max_abs, static_cast<double>(want.max_abs));
    EXPECT_NEAR(*result.mean_abs, static_cast<double>(want.sum_abs / n),
                1e-13 * static_cast<double>(want.max_abs));
    EXPECT_NEAR(*result.rmse, static_cast<double>(std::sqrt(want.sum_squared / n)),
                1e-13 * static_cast<double>(want.max_abs));
    EXPECT_DOUBLE_EQ(result.max_rel.value_or(0.0), static_cast<double>(want.max_rel));
    const long double cosine = want.dot / std::sqrt(want.rr * want.gg);
    EXPECT_NEAR(*result.cosine, static_cast<double>(cosine), 1e-13);
  }
}

}  // namespace
}  // namespace assay::check
