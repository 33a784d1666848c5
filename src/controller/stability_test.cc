#include "controller/stability.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::controller {
namespace {

using workload::StabilityAxis;

TEST(RateUpperLimit, IsClopperAndPearsons) {
  // None of n: 1 - 0.05^(1/n).
  EXPECT_NEAR(rate_upper_limit(0, 44), 1 - std::pow(0.05, 1.0 / 44), 1e-12);
  EXPECT_NEAR(rate_upper_limit(0, 10'001), 2.995e-4, 1e-6);
  // The p at which P[Binomial(n, p) <= k] is 0.05, by exact summation.
  EXPECT_NEAR(rate_upper_limit(1, 10), 0.394163, 1e-6);
  EXPECT_NEAR(rate_upper_limit(5, 44), 0.224203, 1e-6);
  EXPECT_EQ(rate_upper_limit(3, 3), 1.0);
  EXPECT_EQ(rate_upper_limit(0, 0), 1.0);
}

class SuspectedCause : public ::testing::Test {
 protected:
  // `differing` of 100 units of the axis differ, from call `first` on.
  check::CallDifferences& differ(StabilityAxis axis, std::uint64_t differing,
                                 std::uint64_t first = 0) {
    AxisCounts& counts = evidence_.of(axis);
    counts.n = counts.calls.calls = 100;
    counts.differing = counts.calls.differing = differing;
    counts.calls.first_differing = first;
    counts.calls.agreeing_after_first = 99 - first - (differing - 1);
    return counts.calls;
  }

  void expect(StabilityAxis axis, const char* words) {
    EXPECT_NE(suspected_cause(axis, evidence_).find(words), std::string::npos)
        << suspected_cause(axis, evidence_);
  }

  void experiments(bool same_input, bool replay, bool earlier_input, bool fresh_memory) {
    evidence_.same_input_agrees = same_input;
    evidence_.replay_agrees = replay;
    evidence_.earlier_input_matters = earlier_input;
    evidence_.fresh_memory_matters = fresh_memory;
  }

  StabilityEvidence evidence_;
};

TEST_F(SuspectedCause, NothingDiffers) {
  EXPECT_EQ(suspected_cause(StabilityAxis::kRepeat, evidence_), "");
}

TEST_F(SuspectedCause, OutputsOfTheCallBefore) {
  check::CallDifferences& calls = differ(StabilityAxis::kRepeat, 90, 1);
  calls.as_other = calls.as_previous = 90;
  expect(StabilityAxis::kRepeat, "the answer of the call before");
}

TEST_F(SuspectedCause, UnwrittenOutputsComeBeforeEverythingElse) {
  differ(StabilityAxis::kRepeat, 100).unwritten = 100;
  experiments(false, false, false, false);
  expect(StabilityAxis::kRepeat, "not written");
}

TEST_F(SuspectedCause, CallsThatReturnEarly) {
  check::CallDifferences& calls = differ(StabilityAxis::kRepeat, 20, 80);
  calls.as_other = 20;
  calls.as_previous = 2;
  expect(StabilityAxis::kRepeat, "from call 80 on: calls return without doing their work");
}

TEST_F(SuspectedCause, AnswersThatChangeForGood) {
  differ(StabilityAxis::kRepeat, 20, 80);
  experiments(true, true, false, false);
  expect(StabilityAxis::kRepeat, "change for good after 80 calls");
}

TEST_F(SuspectedCause, InputThatIsNotWaitedFor) {
  differ(StabilityAxis::kRepeat, 90, 1);
  experiments(true, true, true, false);
  expect(StabilityAxis::kRepeat, "an input is not waited for");
}

TEST_F(SuspectedCause, KeptState) {
  differ(StabilityAxis::kRepeat, 99, 0);
  experiments(false, true, true, false);
  expect(StabilityAxis::kRepeat, "state is kept between calls");
}

TEST_F(SuspectedCause, RandomNumbersWithAndWithoutAFixedSeed) {
  differ(StabilityAxis::kRepeat, 99, 0);
  experiments(false, true, false, false);
  expect(StabilityAxis::kRepeat, "begins anew with each handle");
  experiments(false, false, true, true);
  expect(StabilityAxis::kRepeat, "without a fixed seed");
}

TEST_F(SuspectedCause, UninitialisedMemory) {
  differ(StabilityAxis::kProcess, 2);
  experiments(true, true, false, true);
  expect(StabilityAxis::kProcess, "uninitialised memory");
}

TEST_F(SuspectedCause, CompilerOrProcess) {
  differ(StabilityAxis::kCompilation, 4);
  evidence_.artifact_consistent = true;
  expect(StabilityAxis::kCompilation, "the compiler is not deterministic");
  evidence_.artifact_consistent = false;
  expect(StabilityAxis::kCompilation, "from process to process");
}

TEST_F(SuspectedCause, BatchesByWhatTheyChange) {
  differ(StabilityAxis::kPosition, 50);
  expect(StabilityAxis::kPosition, "its place in the batch");
  differ(StabilityAxis::kNeighbours, 50);
  expect(StabilityAxis::kPosition, "leak into each other");
  // A leak shows at the last place too, which has no neighbour.
  evidence_.of(StabilityAxis::kPosition).only_last_row = true;
  expect(StabilityAxis::kPosition, "leak into each other");
  evidence_.of(StabilityAxis::kNeighbours).only_last_row = true;
  expect(StabilityAxis::kPosition, "the last place of a batch");
}

TEST_F(SuspectedCause, CallersAtOnce) {
  differ(StabilityAxis::kConcurrency, 7);
  expect(StabilityAxis::kConcurrency, "a race");
}

TEST_F(SuspectedCause, ACacheThatIgnoresTheInput) {
  differ(StabilityAxis::kHandle, 1);
  evidence_.outputs_all_alike = true;
  expect(StabilityAxis::kHandle, "a result cache");
}

}  // namespace
}  // namespace assay::controller
