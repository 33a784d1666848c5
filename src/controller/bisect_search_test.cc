#include "controller/bisect_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <utility>

#include "base/testing.h"

namespace assay::controller {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;
using Range = std::pair<std::int64_t, std::int64_t>;

CutPlaces upto(std::int64_t count) {
  CutPlaces places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

// Answers by a rule and remembers what it was asked.
class Oracle {
 public:
  explicit Oracle(std::function<CutOutcome(std::int64_t, std::int64_t)> rule)
      : rule_(std::move(rule)) {}

  RangeOracle ask() {
    return [this](std::int64_t first, std::int64_t last) -> Result<CutOutcome> {
      asked.emplace_back(first, last);
      return rule_(first, last);
    };
  }

  std::vector<Range> asked;

 private:
  std::function<CutOutcome(std::int64_t, std::int64_t)> rule_;
};

CutOutcome deviates_when(bool deviates) {
  return deviates ? CutOutcome::kDeviates : CutOutcome::kWithin;
}

FirstDeviation found_by(const CutPlaces& places, Oracle& oracle) {
  const auto found = find_first_deviation(places, oracle.ask());
  EXPECT_THAT(found, IsOk());
  EXPECT_TRUE(found.ok() && found->has_value());
  return found.ok() && *found ? **found : FirstDeviation{};
}

TEST(FirstDeviationTest, EveryPlaceIsFoundWithinTheLogarithm) {
  for (std::int64_t bad = 0; bad < 100; ++bad) {
    Oracle oracle([bad](auto, auto last) { return deviates_when(last >= bad); });
    const FirstDeviation found = found_by(upto(100), oracle);
    EXPECT_EQ(found.place, static_cast<std::size_t>(bad));
    EXPECT_EQ(found.last_within.has_value(), bad > 0);
    EXPECT_EQ(found.last_within.value_or(found.place - 1) + 1, found.place);
    EXPECT_THAT(found.unusable, IsEmpty());
    EXPECT_THAT(oracle.asked, SizeIs(Le(8U)));  // the whole, and 7 halvings of 100
  }
}

TEST(FirstDeviationTest, NothingIsFoundAfterOneQuestionWhenTheWholeIsWithin) {
  Oracle oracle([](auto, auto) { return CutOutcome::kWithin; });
  const auto found = find_first_deviation(upto(9), oracle.ask());
  ASSERT_THAT(found, IsOk());
  EXPECT_FALSE(found->has_value());
  EXPECT_THAT(oracle.asked, ElementsAre(Range{0, 8}));
}

TEST(FirstDeviationTest, ModelOfOneOperator) {
  Oracle oracle([](auto, auto) { return CutOutcome::kDeviates; });
  EXPECT_EQ(found_by(upto(1), oracle).place, 0U);
  EXPECT_THAT(oracle.asked, SizeIs(1));
}

TEST(FirstDeviationTest, PlacesAreTheCallersNumbers) {
  Oracle oracle([](auto, auto last) { return deviates_when(last >= 20); });
  EXPECT_EQ(found_by({3, 7, 20, 21}, oracle).place, 2U);
}

// Wrong from 2 on, repaired from 5 on, wrong again from 7 on: each of the two starts is a right
// answer, as right becomes wrong there.
TEST(FirstDeviationTest, AfterARepairOneOfTheStartsIsFound) {
  Oracle oracle(
      [](auto, auto last) { return deviates_when((last >= 2 && last < 5) || last >= 7); });
  const FirstDeviation found = found_by(upto(10), oracle);
  EXPECT_TRUE(found.place == 2 || found.place == 7) << found.place;
  EXPECT_EQ(*found.last_within + 1, found.place);
}

TEST(FirstDeviationTest, NeighboursStandInForPlacesThatDoNotCompile) {
  Oracle oracle([](auto, auto last) {
    if (last == 4 || last == 5 || last == 2) return CutOutcome::kUnusable;
    return deviates_when(last >= 7);
  });
  const FirstDeviation found = found_by(upto(10), oracle);
  EXPECT_EQ(found.place, 7U);
  EXPECT_EQ(found.last_within, 6U);
}

TEST(FirstDeviationTest, WhatCannotBeAskedIsTheUncertainty) {
  Oracle oracle([](auto, auto last) {
    if (last >= 3 && last <= 6) return CutOutcome::kUnusable;
    return deviates_when(last >= 5);
  });
  const FirstDeviation found = found_by(upto(10), oracle);
  EXPECT_EQ(found.place, 7U);
  EXPECT_EQ(found.last_within, 2U);
  EXPECT_THAT(found.unusable, ElementsAre(3, 4, 5, 6));
  const std::set<Range> distinct(oracle.asked.begin(), oracle.asked.end());
  EXPECT_EQ(distinct.size(), oracle.asked.size()) << "nothing is asked twice";
}

TEST(FirstDeviationTest, UnusableWholeIsRefused) {
  Oracle oracle([](auto, auto) { return CutOutcome::kUnusable; });
  EXPECT_THAT(find_first_deviation(upto(3), oracle.ask()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("whole model")));
}

TEST(FirstDeviationTest, ErrorOfTheOracleEndsTheSearch) {
  int asked = 0;
  const RangeOracle ask = [&](auto, auto) -> Result<CutOutcome> {
    if (++asked == 3) return cancelled("stop");
    return CutOutcome::kDeviates;
  };
  EXPECT_THAT(find_first_deviation(upto(1000), ask), StatusIs(StatusCode::kCancelled, "stop"));
  EXPECT_EQ(asked, 3);
}

TEST(RangeStart, OperatorThatIsWrongAloneIsTheRange) {
  Oracle oracle([](auto, auto) { return CutOutcome::kDeviates; });
  EXPECT_EQ(*find_range_start(upto(50), 20, oracle.ask()), 20U);
  EXPECT_THAT(oracle.asked, ElementsAre(Range{20, 20}));
}

TEST(RangeStart, EveryStartIsFound) {
  for (std::int64_t start = 0; start <= 40; ++start) {
    Oracle oracle([start](auto first, auto) { return deviates_when(first <= start); });
    EXPECT_EQ(*find_range_start(upto(50), 40, oracle.ask()), static_cast<std::size_t>(start));
    for (const Range& range : oracle.asked) {
      EXPECT_GT(range.first, 0) << "the prefix is known to deviate";
      EXPECT_EQ(range.second, 40);
    }
  }
}

TEST(RangeStart, RangesThatDoNotCompileAreTakenToBeWithin) {
  Oracle oracle(
      [](auto first, auto) { return first > 3 ? CutOutcome::kUnusable : CutOutcome::kDeviates; });
  EXPECT_EQ(*find_range_start(upto(9), 8, oracle.ask()), 3U);
}

}  // namespace
}  // namespace assay::controller
