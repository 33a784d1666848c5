// Checks of submitted calls.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "conformance/checks.h"

namespace assay::conformance {
namespace {

CheckResult async_drill(Bench& bench, const char* name) {
  CheckResult result = bench.model_drill(name);
  if (result.outcome != Outcome::kPassed) return result;
  if (!result.facts->value("offered", false)) {
    return not_supported("the backend offers no submit (max_in_flight 0)");
  }
  result.detail = fmt::format("{} calls, max_in_flight {}", result.facts->value("accepted", 0),
                              result.facts->value("max_in_flight", 0));
  return result;
}

}  // namespace

CheckResult check_submit(Bench& bench, std::int64_t /*argument*/) {
  return async_drill(bench, "submit_completes");
}

CheckResult check_full_queue(Bench& bench, std::int64_t /*argument*/) {
  return async_drill(bench, "full_queue");
}

CheckResult check_submit_inside(Bench& bench, std::int64_t /*argument*/) {
  return async_drill(bench, "submit_inside_completion");
}

CheckResult check_cancel(Bench& bench, std::int64_t /*argument*/) {
  CheckResult result = async_drill(bench, "cancel");
  if (result.outcome != Outcome::kPassed || result.facts->value("can_cancel", false)) return result;
  return not_supported("the backend's traits say can_cancel 0");
}

CheckResult check_close_with_calls(Bench& bench, std::int64_t /*argument*/) {
  return async_drill(bench, "close_with_calls");
}

}  // namespace assay::conformance
