#include "controller/round_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace assay::controller {
namespace {

constexpr std::uint64_t kP99Floor = 662;  // measurement.md, Statistics

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

// The first rounds have one more, where the iterations cannot be shared out evenly.
std::uint64_t exact_share(std::uint64_t iterations, std::uint64_t rounds, std::uint64_t number) {
  return iterations / rounds + (number < iterations % rounds ? 1 : 0);
}

}  // namespace

int rounds_of(const PerformanceRequest& request) {
  if (!request.exact_iterations) return request.rounds;
  return static_cast<int>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(request.rounds), request.iterations));
}

Json round_arguments(const PerformanceRequest& request, int number, bool repeat) {
  const auto rounds = static_cast<std::uint64_t>(rounds_of(request));
  const std::uint64_t share = repeat ? rounds * kRepeatShare : rounds;
  const bool exact = request.exact_iterations && !repeat;
  const std::uint64_t iterations =
      exact ? exact_share(request.iterations, rounds, static_cast<std::uint64_t>(number))
            : divided_up(request.iterations, share);
  return Json{{"clients", request.clients},
              {"iterations", iterations},
              {"exact_iterations", exact},
              {"min_samples", divided_up(kP99Floor, share)},
              {"min_duration_ns",
               request.min_round_ns / (repeat ? static_cast<std::int64_t>(kRepeatShare) : 1)},
              {"max_duration_ns", request.max_duration_ns / static_cast<std::int64_t>(share)},
              {"seed", request.seed + static_cast<std::uint64_t>(number)},
              {"repeat_input", repeat},
              {"skip_warmup", repeat}};
}

}  // namespace assay::controller
