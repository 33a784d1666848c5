// Checks of several handles, threads and processes, and of what stays behind.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "conformance/checks.h"
#include "conformance/watch.h"

namespace assay::conformance {
namespace {

// A leak of this much a cycle is none: allocators keep what they like.
constexpr double kAllowedBytesPerCycle = 4096;
// A slope is told from noise when it is this many of its standard errors above that.
constexpr double kStandardErrors = 3;

Json call_arguments(Bench& bench, int calls) {
  return {{"name", "answers_repeat"},
          {"arguments", {{"calls", calls}, {"job", to_json(bench.compiled()->job)}}}};
}

// The answer to a drill that was sent.
Result<CheckResult> received(worker::Client& client) {
  ASSIGN_OR_RETURN(const Json answer,
                   client.receive("drill", {.timeout = kDrillTimeout, .tick = {}}));
  return result_of({answer.value("violation", ""), answer.value("facts", Json())});
}

}  // namespace

CheckResult check_handles(Bench& bench, std::int64_t /*argument*/) {
  return bench.model_drill("handles_at_once");
}

CheckResult check_processes(Bench& bench, std::int64_t /*argument*/) {
  const host::Manifest& manifest = bench.manifest();
  if (manifest.exclusive_device) {
    return not_supported("the manifest declares \"exclusive_device\": true");
  }
  if (manifest.licence_seats && *manifest.licence_seats < 2) {
    return not_supported("the manifest declares \"licence_seats\": 1");
  }
  constexpr int kCalls = 20;
  const Json arguments = call_arguments(bench, kCalls);
  CheckResult other = passed();
  const CheckResult one = bench.in_worker([&](controller::Session& first) -> Result<CheckResult> {
    CheckResult mine = passed();
    other = bench.in_worker([&](controller::Session& second) -> Result<CheckResult> {
      RETURN_IF_ERROR(first.client().send("drill", arguments));
      RETURN_IF_ERROR(second.client().send("drill", arguments));
      ASSIGN_OR_RETURN(mine, received(first.client()));
      return received(second.client());
    });
    return mine;
  });
  return one.outcome == Outcome::kPassed ? other : one;
}

CheckResult check_threads(Bench& bench, std::int64_t /*argument*/) {
  CheckResult result = bench.model_drill("threads_on_one_handle");
  if (result.outcome == Outcome::kPassed) {
    result.detail = fmt::format("thread rule: {}", result.facts->value("thread_rule", ""));
  }
  return result;
}

CheckResult check_load_again(Bench& bench, std::int64_t /*argument*/) {
  return bench.model_drill("load_again");
}

CheckResult check_memory(Bench& bench, std::int64_t /*argument*/) {
  const int cycles = bench.quick() ? 100 : 1000;
  CheckResult result = bench.model_drill("load_cycles", Json{{"cycles", cycles}});
  if (result.outcome != Outcome::kPassed) return result;
  const double slope = result.facts->value("bytes_per_cycle", 0.0);
  const double error = result.facts->value("standard_error", 0.0);
  const std::string figure = fmt::format(
      "{:.0f} +- {:.0f} bytes a cycle (least squares over the last {} of {} cycles, private "
      "memory)",
      slope, error, result.facts->value("fitted_cycles", 0), cycles);
  if (slope - kStandardErrors * error <= kAllowedBytesPerCycle) return passed(figure, result.facts);
  return failed(fmt::format("memory grows by {}, accepted: {:.0f}", figure, kAllowedBytesPerCycle),
                result.facts);
}

CheckResult check_deadline(Bench& bench, std::int64_t /*argument*/) {
  constexpr std::chrono::milliseconds kDeadline{1500};
  const SharedMemoryWatch memory;
  worker::Outcome outcome = worker::Outcome::kOk;
  // A device that does not recover shall not spoil the artifact of the other checks.
  Json job;
  CheckResult compiled = bench.in_worker([&](controller::Session& session) -> Result<CheckResult> {
    ASSIGN_OR_RETURN(const std::filesystem::path artifact, bench.folder("artifact"));
    ASSIGN_OR_RETURN(const CompiledModel made, bench.compile(session, *bench.model(), artifact));
    job = to_json(made.job);
    return passed();
  });
  if (compiled.outcome != Outcome::kPassed) return compiled;
  const Json arguments = {{"name", "call_without_end"}, {"arguments", {{"job", job}}}};
  CheckResult killed = bench.in_worker([&](controller::Session& session) -> Result<CheckResult> {
    const Result<Json> answer =
        session.client().call("drill", arguments, {.timeout = kDeadline, .tick = {}});
    if (session.client().death()) outcome = session.client().death()->outcome;
    return answer.status();
  });
  // How the worker was lost is what is wanted here.
  if (outcome != worker::Outcome::kTimedOut) return killed;
  if (const auto left = memory.orphans(); !left.empty()) {
    return failed(
        fmt::format("killed while it called, the backend left {}", fmt::join(left, ", ")));
  }
  CheckResult next = bench.drill("answers_right", Json{{"job", std::move(job)}});
  if (next.outcome == Outcome::kFailed) {
    next.detail = "in the process after one that was killed while it called: " + next.detail;
  }
  return next;
}

CheckResult check_close(Bench& bench, std::int64_t /*argument*/) {
  const SharedMemoryWatch memory;
  const Json arguments = {{"job", to_json(bench.compiled()->job)}};
  CheckResult result = bench.in_worker([&](controller::Session& session) -> Result<CheckResult> {
    ASSIGN_OR_RETURN(const drill::Finding finding,
                     call_drill(session, "what_close_leaves", arguments));
    const std::vector<pid_t> left = adopted_besides(session.client().pid());
    if (!left.empty()) {
      return failed(
          fmt::format("after close and destroy there is process {}", fmt::join(left, ", ")));
    }
    return result_of(finding);
  });
  if (result.outcome != Outcome::kPassed) return result;
  const auto left = memory.orphans();
  if (left.empty()) return result;
  return failed(fmt::format("after the process's end there is {}", fmt::join(left, ", ")));
}

}  // namespace assay::conformance
