#include "controller/answer_scores.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/testing.h"

namespace assay::controller {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Two questions about letters: the first is seen through two windows of three letters.
class Letters final : public dataset::Dataset, public dataset::QuestionSet {
 public:
  Letters() : Dataset({"letters", 3, {{"ids", DType::kInt64, {1, 5}}}, 0, "f"}) {
    for (std::size_t i = 0; i < 5; ++i) tokens_.push_back({0, i, i + 1});
  }
  std::string sample_id(std::size_t index) const override { return std::to_string(index); }
  const QuestionSet* questions() const override { return this; }
  std::size_t question_count() const override { return 2; }
  dataset::Question question(std::size_t index) const override {
    if (index == 0) return {"one", first_, "vwxyz", 0, 2};
    return {"two", second_, "vwx", 2, 1};
  }
  dataset::ContextWindow window(std::size_t sample) const override {
    return {1, std::span(tokens_).subspan(sample == 1 ? 2 : 0, 3)};
  }

 private:
  Status read_sample(std::size_t, std::span<const std::span<std::byte>>) const override {
    return ok_status();
  }
  Result<dataset::Label> read_label(std::size_t) const override { return dataset::Label(); }

  std::vector<std::string> first_ = {"yz"};
  std::vector<std::string> second_ = {"no", "w"};
  std::vector<dataset::TextToken> tokens_;
};

class AnswerScores : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ =
        fs::path(::testing::TempDir()) /
        (std::string("answers-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void TearDown() override { fs::remove(path_); }

  // One row per sample: start scores, end scores.
  void store(const std::vector<std::pair<std::vector<float>, std::vector<float>>>& samples) {
    auto writer = check::OutputWriter::open(
        path_, {},
        {{"start_logits", DType::kFloat32, {1, 5}}, {"end_logits", DType::kFloat32, {1, 5}}},
        samples.size());
    ASSERT_THAT(writer, IsOk());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      ASSERT_THAT(writer->write(i, 0, std::as_bytes(std::span(samples[i].first))), IsOk());
      ASSERT_THAT(writer->write(i, 1, std::as_bytes(std::span(samples[i].second))), IsOk());
    }
    ASSERT_THAT(writer->finish(), IsOk());
  }

  Result<check::AccuracyResult> score(const std::string& metric, std::uint64_t samples) {
    return score_store(path_, Letters(), samples, {.name = metric}, 1);
  }

  fs::path path_;
};

TEST_F(AnswerScores, TheBestSpanOfAllWindowsIsTheAnswer) {
  // Of the first question's windows the second has the higher sum, and shows y and z at 2 and 3;
  // what stands outside of the text (positions 0 and 4) is louder still and counts for nothing.
  store({{{99, 5, 0, 0, 99}, {99, 5, 0, 0, 99}},
         {{0, 0, 6, 0, 0}, {0, 0, 0, 5, 0}},
         {{0, 0, 3, 0, 0}, {0, 0, 3, 0, 0}}});
  const auto exact = score("exact_match", 3);
  ASSERT_THAT(exact, IsOk());
  EXPECT_EQ(exact->n, 2U);  // questions, not windows
  EXPECT_DOUBLE_EQ(exact->value, 100.0);
  EXPECT_DOUBLE_EQ(exact->extra.at("squad_f1"), 100.0);
  EXPECT_NEAR(exact->interval_high, 100.0, 1e-9);
  EXPECT_NEAR(exact->interval_low, 100.0 * 2 / (2 + 3.841458820694124), 1e-6);  // Wilson of 2 of 2
}

TEST_F(AnswerScores, AWrongAnswerAndAMissingOneCountAgainstTheModel) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  store({{{0, 9, 0, 0, 0}, {0, 9, 0, 0, 0}},  // "v"
         {{0, 0, 6, 0, 0}, {0, 0, 0, 5, 0}},
         {{kNan, kNan, kNan, kNan, kNan}, {0, 0, 3, 0, 0}}});
  const auto f1 = score("squad_f1", 3);
  ASSERT_THAT(f1, IsOk());
  EXPECT_DOUBLE_EQ(f1->value, 0.0);
  EXPECT_EQ(f1->n, 2U);
  EXPECT_EQ(f1->nan_samples, 1U);
}

TEST_F(AnswerScores, AQuestionWhoseWindowsAreNotAllThereIsNotScored) {
  store({{{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}},
         {{0, 0, 6, 0, 0}, {0, 0, 0, 5, 0}},
         {{0, 0, 3, 0, 0}, {0, 0, 3, 0, 0}}});
  EXPECT_EQ(score("exact_match", 2)->n, 1U);
  EXPECT_THAT(score("exact_match", 1),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no samples")));
}

TEST(SpanOutputs, AreFoundByNameOrByForm) {
  const std::vector<TensorSpec> named = {{"end", DType::kFloat32, {1, 5}},
                                         {"pooled", DType::kFloat32, {1, 9}},
                                         {"start", DType::kFloat32, {1, 5}}};
  const auto found = find_span_outputs(named, {}, 5);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->start, 2U);
  EXPECT_EQ(found->end, 0U);
  const std::vector<TensorSpec> pairs = {{"logits:0", DType::kFloat32, {1, 5, 2}}};
  EXPECT_EQ(find_span_outputs(pairs, {}, 5)->end, 0U);
  const std::vector<TensorSpec> two = {{"a", DType::kFloat32, {1, 5}},
                                       {"b", DType::kFloat32, {1, 5}}};
  EXPECT_EQ(find_span_outputs(two, {}, 5)->end, 1U);
  EXPECT_EQ(find_span_outputs(two, {.start_output = "b", .end_output = "a"}, 5)->start, 1U);
}

TEST(SpanOutputs, AreRefusedWithBothSides) {
  const std::vector<TensorSpec> wrong = {{"start", DType::kFloat32, {1, 4}},
                                         {"end", DType::kFloat32, {1, 5}}};
  EXPECT_THAT(find_span_outputs(wrong, {}, 5),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("[1,4]"), HasSubstr("each of the 5 positions"))));
  const std::vector<TensorSpec> scores = {{"logits", DType::kFloat32, {1, 10}}};
  EXPECT_THAT(find_span_outputs(scores, {}, 5),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a pair of scores")));
  EXPECT_THAT(find_span_outputs(wrong, {.start_output = "strat", .end_output = "end"}, 5),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("did you mean \"start\"")));
}

TEST(MetricSpec, TakesTheCountsOfAnswers) {
  const auto spec = parse_metric({{"name", "squad_f1"}, {"n_best", 5}, {"max_answer_length", 7}});
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ((*spec)->span.n_best, 5);
  EXPECT_EQ((*spec)->span.max_answer_length, 7);
  for (const Json& bad : {Json(0), Json("5"), Json(1.5), Json(100000)}) {
    EXPECT_THAT(parse_metric({{"name", "squad_f1"}, {"n_best", bad}}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("metric.n_best: found")));
  }
}

}  // namespace
}  // namespace assay::controller
