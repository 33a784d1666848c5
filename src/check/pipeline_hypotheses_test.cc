#include "check/pipeline_hypotheses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/testing.h"

namespace assay::check {
namespace {

using ::assay::testing::IsOk;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

std::vector<std::string> names_of(const std::vector<InputHypothesis>& list) {
  std::vector<std::string> names;
  for (const InputHypothesis& each : list) names.push_back(each.name);
  return names;
}

// A picture of 1 x 2 pixels: (10, 20, 30) and (40, 50, 60), normalised by `facts`.
PipelineFacts two_pixels(bool channels_first, std::vector<double> mean, std::vector<double> scale) {
  PipelineFacts facts;
  facts.inputs = {{"x", DType::kFloat32, channels_first ? Shape{1, 3, 1, 2} : Shape{1, 1, 2, 3}}};
  facts.picture = PictureFacts{channels_first, std::move(mean), std::move(scale), false};
  return facts;
}

// What the model would be fed with under the hypothesis.
template <typename T>
std::vector<T> changed(const PipelineFacts& facts, const std::string& name, std::vector<T> values) {
  const std::vector<InputHypothesis> list = input_hypotheses(facts);
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const InputHypothesis& each) { return each.name == name; });
  if (found == list.end()) {
    ADD_FAILURE() << "no hypothesis " << name;
    return {};
  }
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(values));
  EXPECT_THAT(found->change(SampleInputs(&bytes, 1)), IsOk());
  return values;
}

TEST(PictureHypotheses, BgrSwapsPixelsBeforeTheyAreNormalised) {
  // By channel (p - 10) / 2, (p - 20) / 4, (p - 30) / 5.
  const PipelineFacts facts = two_pixels(true, {10, 20, 30}, {2, 4, 5});
  const std::vector<float> right = {0, 15, 0, 7.5F, 0, 6};
  // Pixels become (30, 20, 10) and (60, 50, 40).
  EXPECT_THAT(changed(facts, "bgr", right), ElementsAre(10, 25, 0, 7.5F, -4, 2));
}

TEST(PictureHypotheses, BgrOfInterleavedPixels) {
  const PipelineFacts facts = two_pixels(false, {0}, {10});
  const std::vector<float> right = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(changed(facts, "bgr", right), ElementsAre(3, 2, 1, 6, 5, 4));
}

TEST(PictureHypotheses, RangesUndoTheModelsFigures) {
  const PipelineFacts facts = two_pixels(true, {10}, {2});
  const std::vector<float> right = {0, 15, 5, 20, 10, 25};  // of 10, 40, 20, 50, 30, 60
  EXPECT_THAT(changed(facts, "range_255", right), ElementsAre(10, 40, 20, 50, 30, 60));
  EXPECT_THAT(changed(facts, "range_1", right),
              Pointwise(FloatNear(1e-6F), std::vector<float>{10 / 255.F, 40 / 255.F, 20 / 255.F,
                                                             50 / 255.F, 30 / 255.F, 60 / 255.F}));
  EXPECT_THAT(changed(facts, "range_symmetric", right)[1],
              FloatNear((40 - 127.5F) / 127.5F, 1e-6F));
}

TEST(PictureHypotheses, ImageNetsFiguresAreThoseOfEachChannel) {
  const PipelineFacts facts = two_pixels(true, {0}, {1});
  const std::vector<float> pixels = {10, 40, 20, 50, 30, 60};
  EXPECT_THAT(changed(facts, "imagenet_norm", pixels),
              Pointwise(FloatNear(1e-5F),
                        std::vector<float>{
                            (10 / 255.F - 0.485F) / 0.229F, (40 / 255.F - 0.485F) / 0.229F,
                            (20 / 255.F - 0.456F) / 0.224F, (50 / 255.F - 0.456F) / 0.224F,
                            (30 / 255.F - 0.406F) / 0.225F, (60 / 255.F - 0.406F) / 0.225F}));
}

TEST(PictureHypotheses, TwoMistakesAtOnce) {
  const PipelineFacts facts = two_pixels(true, {10}, {2});
  const std::vector<float> right = {0, 15, 5, 20, 10, 25};
  EXPECT_THAT(changed(facts, "bgr+range_255", right), ElementsAre(30, 60, 20, 50, 10, 40));
}

TEST(PictureHypotheses, AQuantisedInputCutsOff) {
  PipelineFacts facts = two_pixels(true, {0}, {255});
  facts.picture->saturates = true;
  const std::vector<float> right = {0, 0.5F, 1, 0.25F, 0.75F, 0};
  EXPECT_THAT(changed(facts, "range_255_saturated", right), ElementsAre(0, 1, 1, 1, 1, 0));
  // (0.5 - 0.485) / 0.229; 0 and 1 end outside of 0..1.
  EXPECT_THAT(changed(facts, "imagenet_norm_saturated", right),
              Pointwise(FloatNear(1e-5F), std::vector<float>{0, 0.015F / 0.229F, 1, 0, 1, 0}));
}

TEST(PictureHypotheses, NormalisedTwice) {
  const PipelineFacts facts = two_pixels(true, {10}, {2});
  const std::vector<float> right = {0, 15, 5, 20, 10, 25};
  EXPECT_THAT(changed(facts, "normalised_twice", right), ElementsAre(-5, 2.5F, -2.5F, 5, 0, 7.5F));
}

TEST(PictureHypotheses, LayoutsAreEachOthersInverse) {
  const PipelineFacts facts = two_pixels(true, {}, {});
  // Channels (1, 2), (3, 4), (5, 6): interleaved 1 3 5, 2 4 6.
  const std::vector<float> right = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(changed(facts, "layout", right), ElementsAre(1, 3, 5, 2, 4, 6));
  // Read as pixels (1, 2, 3) and (4, 5, 6).
  EXPECT_THAT(changed(facts, "layout_read", right), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(PictureHypotheses, RowsAndColumns) {
  PipelineFacts facts;
  facts.inputs = {{"x", DType::kUInt8, {1, 1, 2, 2}}};
  facts.picture = PictureFacts{true, {0}, {255}, false};
  EXPECT_THAT(changed(facts, "transposed", std::vector<std::uint8_t>{1, 2, 3, 4}),
              ElementsAre(1, 3, 2, 4));
}

TEST(PictureHypotheses, OnlyWhatAppliesIsTried) {
  PipelineFacts grey;
  grey.inputs = {{"x", DType::kFloat32, {1, 1, 28, 28}}};
  grey.picture = PictureFacts{true, {0}, {255}, false};
  EXPECT_THAT(names_of(input_hypotheses(grey)),
              ElementsAre("transposed", "range_255", "range_symmetric", "imagenet_norm",
                          "normalised_twice"));

  // Nothing is known of how its values were made.
  const auto unknown = names_of(input_hypotheses(two_pixels(true, {}, {})));
  EXPECT_THAT(unknown, ElementsAre("bgr", "layout", "layout_read"));

  PipelineFacts table;
  table.inputs = {{"x", DType::kFloat32, {1, 6}}};
  EXPECT_THAT(input_hypotheses(table), ::testing::IsEmpty());
}

TEST(PictureHypotheses, TheModelsOwnFiguresAreNoMistake) {
  EXPECT_THAT(names_of(input_hypotheses(two_pixels(true, {0}, {255}))),
              AllOf(Not(Contains("range_1")), Contains("range_255")));
}

// Two inputs of four tokens: [CLS] a b [SEP], and [CLS] a [SEP] [PAD].
class TextHypotheses : public ::testing::Test {
 protected:
  using Ids = std::vector<std::int64_t>;

  void change(const std::string& name) {
    PipelineFacts facts;
    for (const char* input : {"ids", "mask", "segments"}) {
      facts.inputs.push_back({input, DType::kInt64, {1, 4}});
    }
    facts.text = TextFacts{0, 1, 2};
    for (const InputHypothesis& each : input_hypotheses(facts)) {
      if (each.name != name) continue;
      const std::vector<std::span<std::byte>> inputs = {
          std::as_writable_bytes(std::span(ids_)), std::as_writable_bytes(std::span(mask_)),
          std::as_writable_bytes(std::span(segments_))};
      EXPECT_THAT(each.change(inputs), IsOk());
      return;
    }
    FAIL() << "no hypothesis " << name;
  }

  Ids ids_ = {101, 7, 102, 0};
  Ids mask_ = {1, 1, 1, 0};
  Ids segments_ = {0, 0, 0, 0};
};

TEST_F(TextHypotheses, MaskOfOnes) {
  change("mask_ignored");
  EXPECT_THAT(mask_, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(ids_, ElementsAre(101, 7, 102, 0));
}

TEST_F(TextHypotheses, IdsOfAnotherVocabulary) {
  change("ids_shifted_up");
  EXPECT_THAT(ids_, ElementsAre(102, 8, 103, 1));
  change("ids_shifted_down");
  change("ids_shifted_down");
  EXPECT_THAT(ids_, ElementsAre(100, 6, 101, 0));
}

TEST_F(TextHypotheses, NoTokensThatBeginAndEnd) {
  change("no_special_tokens");
  EXPECT_THAT(ids_, ElementsAre(7, 0, 0, 0));
  EXPECT_THAT(mask_, ElementsAre(1, 0, 0, 0));
}

TEST_F(TextHypotheses, NoTokensThatBeginAndEndInAFullInput) {
  ids_ = {101, 7, 8, 102};
  mask_ = {1, 1, 1, 1};
  change("no_special_tokens");
  EXPECT_THAT(ids_, ElementsAre(7, 8, 0, 0));
  EXPECT_THAT(mask_, ElementsAre(1, 1, 0, 0));
}

TEST_F(TextHypotheses, SegmentsOfTheSecondText) {
  change("segments_one");
  EXPECT_THAT(segments_, ElementsAre(1, 1, 1, 1));
}

std::vector<double> answered(RowValues values, const std::string& name, std::vector<double> row) {
  for (const OutputHypothesis& each : output_hypotheses(row.size(), values)) {
    if (each.name != name) continue;
    each.change(row);
    return row;
  }
  ADD_FAILURE() << "no hypothesis " << name;
  return {};
}

TEST(OutputHypotheses, Activations) {
  const std::vector<double> logits = {std::log(1.0), std::log(3.0)};
  EXPECT_THAT(answered(RowValues::kLogits, "softmax", logits),
              Pointwise(DoubleNear(1e-12), std::vector<double>{0.25, 0.75}));
  EXPECT_THAT(answered(RowValues::kLogits, "log_softmax", logits),
              Pointwise(DoubleNear(1e-12), std::vector<double>{std::log(0.25), std::log(0.75)}));
  EXPECT_THAT(answered(RowValues::kLogits, "sigmoid", logits),
              Pointwise(DoubleNear(1e-12), std::vector<double>{0.5, 0.75}));
  EXPECT_THAT(answered(RowValues::kProbabilities, "softmax_missing", {0.25, 0.75}),
              Pointwise(DoubleNear(1e-12), std::vector<double>{std::log(0.25), std::log(0.75)}));
  EXPECT_THAT(answered(RowValues::kProbabilities, "sigmoid_missing", {0.75}),
              ElementsAre(DoubleNear(std::log(3.0), 1e-12)));
}

TEST(OutputHypotheses, ProbabilitiesOfZeroAndOneStayFinite) {
  EXPECT_TRUE(std::isfinite(answered(RowValues::kProbabilities, "sigmoid_missing", {1.0})[0]));
  EXPECT_TRUE(std::isfinite(answered(RowValues::kProbabilities, "sigmoid_missing", {0.0})[0]));
}

TEST(OutputHypotheses, LabelsShifted) {
  EXPECT_THAT(answered(RowValues::kLogits, "label_shift", {1, 2, 3}), ElementsAre(3, 1, 2));
  EXPECT_THAT(answered(RowValues::kLogits, "label_shift_down", {1, 2, 3}), ElementsAre(2, 3, 1));
}

TEST(OutputHypotheses, OneScoreHasNoLabelsToShift) {
  for (const OutputHypothesis& each : output_hypotheses(1, RowValues::kProbabilities)) {
    EXPECT_THAT(each.name, Not(HasSubstr("label")));
  }
}

}  // namespace
}  // namespace assay::check
