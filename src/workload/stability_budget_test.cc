#include "workload/stability_budget.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/testing.h"

namespace assay::workload {
namespace {

using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

TEST(StabilityBudget, StandardAndDeepSeeTheRatesThatTheyAreMadeFor) {
  const StabilityBudget standard = parse_stability_budget("standard").value();
  const auto compilations = static_cast<double>(standard.of(StabilityAxis::kCompilation));
  EXPECT_GE(1 - std::pow(0.9, compilations), 0.99);
  EXPECT_GT(standard.of(StabilityAxis::kRepeat), 10'000U);
  const StabilityBudget deep = parse_stability_budget("deep").value();
  EXPECT_GE(1 - std::pow(0.99, static_cast<double>(deep.of(StabilityAxis::kCompilation))), 0.99);
}

TEST(StabilityBudget, NamedAxesRunAlone) {
  const StabilityBudget budget = parse_stability_budget("repeat=500,compilation=7").value();
  EXPECT_EQ(budget.text, "repeat=500,compilation=7");
  EXPECT_EQ(budget.of(StabilityAxis::kRepeat), 500U);
  EXPECT_EQ(budget.of(StabilityAxis::kCompilation), 7U);
  EXPECT_EQ(budget.of(StabilityAxis::kHandle), 0U);
}

TEST(StabilityBudget, WrongTextNamesWhatIsAccepted) {
  EXPECT_THAT(parse_stability_budget("thorough"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("no axis \"thorough\"; accepted: quick, standard, deep")));
  EXPECT_THAT(parse_stability_budget("repeat=0"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"0\" is not a whole number")));
  EXPECT_THAT(parse_stability_budget("repeat"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"\" is not a whole number")));
  EXPECT_THAT(parse_stability_budget("repeat=5,"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no axis \"\"")));
  EXPECT_THAT(parse_stability_budget("repeat=5,handle=2,repeat=6"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("repeat is named twice")));
  EXPECT_THAT(parse_stability_budget(""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no axis \"\"")));
}

}  // namespace
}  // namespace assay::workload
