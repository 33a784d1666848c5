#include "check/noise_floor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "check/numeric_verdict.h"

namespace assay::check {
namespace {

using ::testing::HasSubstr;

// 100 values, one of which is off by `max_abs`; the RMSE as asked.
NumericResult result_with(double max_abs, double rmse) {
  NumericResult result;
  result.output = "scores";
  result.elements = result.compared = 100;
  result.differing = 1;
  result.max_abs = max_abs;
  result.rmse = rmse;
  return result;
}

// Allows 0.04 and 0.008; with FP16, 4 and 0.8.
NoiseFloor floor_of(bool with_bound) {
  NoiseFloor floor;
  floor.output = "scores";
  floor.samples = 128;
  floor.variations = {{"1 thread", {0.01, 0.001}}, {"batch size 4", {0.005, 0.002}}};
  if (with_bound) floor.bound = {"FP16", {{"computing in FP16, seed 0", {1, 0.2}}}};
  return floor;
}

TEST(NoiseFloorOf, LargestIsOfEachFigureByItself) {
  const NoiseLevel most = largest(floor_of(false).variations);
  EXPECT_EQ(most.max_abs, 0.01);
  EXPECT_EQ(most.rmse, 0.002);
  EXPECT_EQ(largest({}).max_abs, 0);
}

TEST(Placement, BothFiguresHaveToBeInside) {
  const NoiseFloor floor = floor_of(true);
  EXPECT_EQ(place(result_with(0.04, 0.008), &floor), NoisePlacement::kInsideFloor);
  EXPECT_EQ(place(result_with(0.05, 0.008), &floor), NoisePlacement::kInsidePrecision);
  EXPECT_EQ(place(result_with(0.04, 0.009), &floor), NoisePlacement::kInsidePrecision);
  EXPECT_EQ(place(result_with(4, 0.8), &floor), NoisePlacement::kInsidePrecision);
  EXPECT_EQ(place(result_with(4.1, 0.8), &floor), NoisePlacement::kRealError);
  EXPECT_EQ(place(result_with(4, 0.9), &floor), NoisePlacement::kRealError);
}

TEST(Placement, UnknownWhereNothingIsKnown) {
  const NoiseFloor no_bound = floor_of(false);
  EXPECT_EQ(place(result_with(0.05, 0.001), &no_bound), NoisePlacement::kUnknown);
  EXPECT_EQ(place(result_with(0.05, 0.001), nullptr), NoisePlacement::kUnknown);
  NumericResult nothing = result_with(0, 0);
  nothing.compared = 0;
  EXPECT_EQ(place(nothing, &no_bound), NoisePlacement::kUnknown);
}

TEST(Placement, TiesOfWholeNumbersAreNotAccused) {
  NoiseFloor floor = floor_of(true);
  NumericResult classes = result_with(7, 0.1);
  classes.dtype = classes.reference_dtype = DType::kInt64;
  EXPECT_EQ(place(classes, &floor), NoisePlacement::kUnknown);
  floor.variations = {{"1 thread", {2, 0.1}}};
  EXPECT_EQ(place(classes, &floor), NoisePlacement::kInsideFloor);
}

TEST(Placement, NonFiniteIsRealAndIdenticalNeedsNoFloor) {
  NumericResult broken = result_with(0, 0);
  broken.nonfinite_mismatches = 1;
  EXPECT_EQ(place(broken, nullptr), NoisePlacement::kRealError);
  NumericResult same = result_with(0, 0);
  same.identical = true;
  EXPECT_EQ(place(same, nullptr), NoisePlacement::kIdentical);
}

TEST(JudgeByPlacement, InsidePassesAndARealErrorFailsWithBothSides) {
  const NumericCriterion wanted{.floors = {floor_of(true)}};
  EXPECT_EQ(judge_numeric(result_with(0.03, 0.001), wanted).verdict, Verdict::kPass);
  EXPECT_EQ(judge_numeric(result_with(3, 0.1), wanted).verdict, Verdict::kPass);
  const NumericVerdict real = judge_numeric(result_with(5, 0.1), wanted);
  EXPECT_EQ(real.verdict, Verdict::kFail);
  EXPECT_THAT(real.reason, HasSubstr("a real error: largest difference 5 and RMSE 0.1; the noise "
                                     "floor is 0.01 and 0.002, computing in FP16 explains 1 and "
                                     "0.2, up to 4 times of which is allowed"));
  const NumericCriterion unknown{.floors = {floor_of(false)}};
  const NumericVerdict open = judge_numeric(result_with(5, 0.1), unknown);
  EXPECT_EQ(open.verdict, Verdict::kNotJudged);
  EXPECT_THAT(open.reason, HasSubstr("the executed precision is not known"));
}

TEST(JudgeByPlacement, AnOutputThatIsNotJudgedLeavesTheWholeUndecided) {
  NumericResult same = result_with(0, 0);
  same.identical = true;
  NumericReport report;
  report.outputs = {same, result_with(5, 0.1)};
  const NumericVerdict open = judge_numeric(report, {.floors = {floor_of(false)}});
  EXPECT_EQ(open.verdict, Verdict::kNotJudged);
  EXPECT_THAT(open.reason, HasSubstr("the executed precision is not known"));
  EXPECT_EQ(judge_numeric(report, {.floors = {floor_of(true)}}).verdict, Verdict::kFail);
  report.missing_samples = 1;
  EXPECT_EQ(judge_numeric(report, {.floors = {floor_of(false)}}).verdict, Verdict::kInconclusive);
}

TEST(JudgeByPlacement, ANamedToleranceGoesBefore) {
  NumericResult result = result_with(5, 0.1);
  result.outside_tolerance = 0.0;
  EXPECT_EQ(judge_numeric(result, {.tolerance_named = true, .floors = {floor_of(true)}}).verdict,
            Verdict::kPass);
}

TEST(NoiseFloorOf, JsonGoesThereAndBack) {
  const NoiseFloor floor = floor_of(true);
  const Json json = to_json(floor);
  EXPECT_EQ(json["max_abs"], 0.01);
  EXPECT_EQ(json["bound"]["rmse"], 0.2);
  const Result<NoiseFloor> back = noise_floor_from_json(json);
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(to_json(*back), json);
  EXPECT_EQ(find_floor({*back}, "scores")->samples, 128U);
  EXPECT_EQ(find_floor({*back}, "other"), nullptr);
  EXPECT_EQ(noise_floor_from_json(Json{{"output", 3}}).status().code(), StatusCode::kDataLoss);
  for (const char* emptied : {"/variations", "/bound/draws"}) {
    Json without = json;
    without[Json::json_pointer(emptied)] = Json::array();
    EXPECT_EQ(noise_floor_from_json(without).status().code(), StatusCode::kDataLoss) << emptied;
  }
}

}  // namespace
}  // namespace assay::check
