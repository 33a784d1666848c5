#include "controller/round_plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace assay::controller {
namespace {

std::uint64_t calls_of_a_client(const PerformanceRequest& request) {
  std::uint64_t calls = 0;
  for (int number = 0; number < rounds_of(request); ++number) {
    const Json arguments = round_arguments(request, number, /*repeat=*/false);
    EXPECT_TRUE(arguments.at("exact_iterations").get<bool>());
    EXPECT_GE(arguments.at("iterations").get<std::uint64_t>(), 1U);
    calls += arguments.at("iterations").get<std::uint64_t>();
  }
  return calls;
}

TEST(RoundPlan, ExactIterationsAreExactOverAllRounds) {
  for (const std::uint64_t iterations : {1U, 2U, 3U, 4U, 5U, 100U, 101U}) {
    for (const int rounds : {1, 3, 5}) {
      PerformanceRequest request;
      request.exact_iterations = true;
      request.iterations = iterations;
      request.rounds = rounds;
      EXPECT_EQ(calls_of_a_client(request), iterations) << iterations << " in " << rounds;
      EXPECT_LE(rounds_of(request), rounds);
    }
  }
}

TEST(RoundPlan, IterationsAreAFloorOtherwise) {
  PerformanceRequest request;
  request.iterations = 100;
  request.rounds = 3;
  EXPECT_EQ(rounds_of(request), 3);
  const Json first = round_arguments(request, 0, /*repeat=*/false);
  EXPECT_EQ(first.at("iterations"), 34);
  EXPECT_EQ(first.at("min_samples"), 221);  // 662 over three rounds
  const Json repeated = round_arguments(request, 0, /*repeat=*/true);
  EXPECT_EQ(repeated.at("iterations"), 9);
  EXPECT_TRUE(repeated.at("skip_warmup").get<bool>());
}

}  // namespace
}  // namespace assay::controller
