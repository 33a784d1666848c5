#include "workload/segment_order.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/testing.h"

namespace assay::workload {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Segment segment(std::int64_t index, TensorMap inputs, TensorMap outputs) {
  return {index, false, std::move(inputs), std::move(outputs), {}};
}

const ModelEnds kModel = {{{"x", Shape{1, 3}}}, {"y"}};

TEST(OrderSegments, EachComesAfterThoseWhoseOutputsItTakes) {
  const std::vector<Segment> segments = {
      segment(7, {{"b", std::nullopt}}, {{"y", Shape{1, 2}}}),
      segment(3, {{"x", Shape{-1, 3}}}, {{"a", Shape{-1, 4}}}),
      segment(5, {{"a", Shape{8, 4}}, {"x", std::nullopt}}, {{"b", Shape{1, 2}}})};
  const auto order = order_segments(segments, kModel);
  ASSERT_THAT(order, IsOk());
  EXPECT_THAT(*order, ElementsAre(1, 2, 0));
  EXPECT_THAT(order_segments({}, {}).value(), IsEmpty());
}

TEST(ModelEnds, AreThoseOfTheModelInfo) {
  const ModelEnds ends = model_ends(
      {{"inputs", "x, z,"}, {"outputs", "y"}, {"input_shape", {{"x", {1, 3}}, {"z", nullptr}}}});
  ASSERT_EQ(ends.inputs.size(), 2U);
  EXPECT_EQ(ends.inputs[0], std::pair(std::string("x"), std::optional(Shape{1, 3})));
  EXPECT_EQ(ends.inputs[1], std::pair(std::string("z"), std::optional<Shape>()));
  EXPECT_THAT(ends.outputs, ElementsAre("y"));
  EXPECT_THAT(model_ends(nullptr).inputs, IsEmpty());
}

TEST(OrderSegments, OneSegmentIsNotLookedAt) {
  EXPECT_THAT(order_segments(std::vector{segment(0, {}, {})}, kModel).value(), ElementsAre(0));
}

TEST(OrderSegments, ATensorThatNobodyGivesIsNamedWithTheNearest) {
  const std::vector<Segment> segments = {
      segment(0, {{"x", std::nullopt}}, {{"hidden", std::nullopt}}),
      segment(1, {{"hiden", std::nullopt}}, {{"z", std::nullopt}})};
  EXPECT_THAT(
      order_segments(segments, kModel),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("segment 1 takes \"hiden\""), HasSubstr("did you mean \"hidden\""),
                     HasSubstr("no segment gives the model's output \"y\""))));
}

TEST(OrderSegments, ATensorThatTwoGiveIsRefusedWithBoth) {
  const std::vector<Segment> segments = {
      segment(0, {{"x", std::nullopt}}, {{"y", std::nullopt}}),
      segment(4, {{"x", std::nullopt}}, {{"y", std::nullopt}, {"x", std::nullopt}})};
  EXPECT_THAT(order_segments(segments, kModel),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"y\" comes from segment 0 and from segment 4"),
                             HasSubstr("\"x\" comes from the model's input and from segment 4"))));
}

TEST(OrderSegments, ShapesThatDifferBeyondTheBatchAreRefusedWithBoth) {
  const std::vector<Segment> segments = {segment(0, {{"x", Shape{1, 5}}}, {{"a", Shape{1, 4}}}),
                                         segment(1, {{"a", Shape{4}}}, {{"y", Shape{1, 4}}})};
  EXPECT_THAT(
      order_segments(segments, kModel),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("\"x\": the model's input gives [1,3], segment 0 takes [1,5]"),
                     HasSubstr("\"a\": segment 0 gives [1,4], segment 1 takes [4]"))));
}

TEST(OrderSegments, SegmentsThatWaitForEachOtherAreRefused) {
  const std::vector<Segment> segments = {
      segment(0, {{"x", std::nullopt}}, {{"a", std::nullopt}}),
      segment(1, {{"a", std::nullopt}, {"y", std::nullopt}}, {{"b", std::nullopt}}),
      segment(2, {{"b", std::nullopt}}, {{"y", std::nullopt}})};
  EXPECT_THAT(
      order_segments(segments, kModel),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("segments 1, 2 wait for each other")));
}

TEST(OrderSegments, ASegmentWithoutNamesIsRefusedBesideOthers) {
  EXPECT_THAT(
      order_segments(
          std::vector{segment(0, {{"x", std::nullopt}}, {{"y", std::nullopt}}), segment(1, {}, {})},
          kModel),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("segment 1 names no input"),
                                                   HasSubstr("segment 1 names no output"))));
}

}  // namespace
}  // namespace assay::workload
