#include "controller/pipeline_answers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/testing.h"
#include "check/output_store.h"

namespace assay::controller {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;
using ::testing::ElementsAre;

// Two stores of two samples with outputs ids [1], logits [1, 3] and map [1, 2, 2].
class PipelineAnswers : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const fs::path& path : {reference_, tested_}) {
      auto writer = check::OutputWriter::open(path, {},
                                              {{"ids", DType::kInt64, {1}},
                                               {"logits", DType::kFloat32, {1, 3}},
                                               {"map", DType::kFloat32, {1, 2, 2}}},
                                              2);
      ASSERT_THAT(writer, IsOk());
      for (std::uint64_t s = 0; s < 2; ++s) {
        const std::int64_t id = 7;
        const float n = path == tested_ ? 100 : static_cast<float>(s);
        const std::vector<float> logits = {n, n + 1, n + 2};
        const std::vector<float> map = {n, n, n, n};
        ASSERT_THAT(writer->write(s, 0, std::as_bytes(std::span(&id, 1))), IsOk());
        ASSERT_THAT(writer->write(s, 1, std::as_bytes(std::span(logits))), IsOk());
        ASSERT_THAT(writer->write(s, 2, std::as_bytes(std::span(map))), IsOk());
      }
      ASSERT_THAT(writer->finish(), IsOk());
    }
  }
  void TearDown() override {
    fs::remove(reference_);
    fs::remove(tested_);
  }

  // Tests of one fixture run side by side, as processes.
  std::string name_ = fmt::format("pipeline_answers-{}", ::getpid());
  fs::path reference_ = fs::path(::testing::TempDir()) / (name_ + ".reference");
  fs::path tested_ = fs::path(::testing::TempDir()) / (name_ + ".tested");
};

TEST_F(PipelineAnswers, FloatingOutputsOfTheSamplesAskedFor) {
  const auto outputs = probed_outputs(reference_, tested_, std::nullopt);
  ASSERT_THAT(outputs, IsOk());
  ASSERT_EQ(outputs->specs.size(), 2);
  EXPECT_EQ(outputs->values, 7);
  const std::vector<std::size_t> samples = {1, 0};
  const auto answers = read_answers(reference_, *outputs, samples);
  ASSERT_THAT(answers, IsOk());
  EXPECT_THAT((*answers)[0].values, ElementsAre(1, 2, 3, 0, 1, 2));
  EXPECT_THAT((*answers)[1].values, ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
}

TEST_F(PipelineAnswers, ScoresAreWhatTheMetricNamesIfTheyAreOneRow) {
  const auto scores = [&](const std::optional<MetricSpec>& metric) {
    return probed_outputs(reference_, tested_, metric)->scores;
  };
  EXPECT_EQ(scores(MetricSpec{"top1", "logits", check::Scores::kLogits}), 0);
  EXPECT_EQ(scores(MetricSpec{"top1", "map", check::Scores::kLogits}), std::nullopt);
  EXPECT_EQ(scores(std::nullopt), std::nullopt) << "two outputs, and nothing says which";
}

TEST(RowValues, AreTakenFromTheMetricElseFromTheValues) {
  const check::Answers shares{2, 2, {0.25, 0.75, 0.5, 0.5}};
  const check::Answers others{2, 2, {0.25, 0.75, 0.5, 0.6}};
  EXPECT_EQ(row_values(shares, std::nullopt), check::RowValues::kProbabilities);
  EXPECT_EQ(row_values(others, std::nullopt), check::RowValues::kLogits);
  EXPECT_EQ(row_values(shares, MetricSpec{"top1", "", check::Scores::kLogits}),
            check::RowValues::kLogits);
}

TEST(PredictedAnswers, ChangeEachRow) {
  const check::OutputHypothesis reversed{"reversed", "",
                                         [](std::span<double> row) { std::swap(row[0], row[1]); }};
  const check::Answers given{2, 2, {1, 2, 3, 5}};
  EXPECT_THAT(predicted_answers(given, reversed).values, ElementsAre(2, 1, 5, 3));
  EXPECT_THAT(without_offset(given).values, ElementsAre(-0.5, 0.5, -1, 1));
}

TEST(ProbedOutputs, FewValuesTellNothing) {
  EXPECT_FALSE(can_tell({.values = 1}, 2));
  EXPECT_FALSE(can_tell({.values = 2}, 7));
  EXPECT_TRUE(can_tell({.values = 2}, 8));
  EXPECT_TRUE(can_tell({.values = 1000}, 2));
  EXPECT_FALSE(can_tell({}, 32));
}

}  // namespace
}  // namespace assay::controller
