// Drills of submitted calls.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "drill/drills.h"
#include "drill/in_flight.h"
#include "drill/job.h"

namespace assay::drill {
namespace {

constexpr std::size_t kCalls = 48;
constexpr std::size_t kChain = 16;

using Exercise = std::function<void(host::RuntimeBackend& runtime, CallsInFlight& calls)>;

std::string code_name(std::int32_t code) { return status_code_name(static_cast<StatusCode>(code)); }

// Loads, runs `exercise`, waits for what is on its way unless `leaves_calls`, closes.
Result<Finding> with_calls(const Context& context, const Json& arguments, bool leaves_calls,
                           const Exercise& exercise) {
  ASSIGN_OR_RETURN(const Json description, argument<Json>(arguments, "job"));
  ASSIGN_OR_RETURN(const Job job, job_from_json(description));
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, load(*context.library, job));
  if (runtime.max_in_flight() == 0) return Finding{"", Json{{"offered", false}}};
  ASSIGN_OR_RETURN(const std::vector<Case> cases, cases_for(runtime, job));
  CallsInFlight calls(runtime, cases);
  exercise(runtime, calls);
  calls.hold(false);
  if (!leaves_calls) calls.wait_for_all();
  RETURN_IF_ERROR(runtime.close());
  calls.settle();
  return Finding{calls.violation(), Json{{"offered", true},
                                         {"can_cancel", runtime.can_cancel()},
                                         {"max_in_flight", runtime.max_in_flight()},
                                         {"accepted", calls.accepted()}}};
}

// One call more, whatever the queue holds.
void submit_patiently(CallsInFlight& calls, std::size_t number) {
  std::int32_t code = calls.submit(number);
  if (code == ASSAY_RESOURCE_EXHAUSTED) {
    calls.wait_for_all();
    code = calls.submit(number);
  }
  if (code != ASSAY_OK) calls.note(fmt::format("submit failed with {}", code_name(code)));
}

void fill_queue(host::RuntimeBackend& runtime, CallsInFlight& calls) {
  const std::size_t places = runtime.max_in_flight();
  calls.hold(true);
  // A backend that completes inside submit never fills.
  for (std::size_t number = 0; number < 4 * places + kCalls; ++number) {
    const std::int32_t code = calls.submit(number);
    if (code == ASSAY_OK) {
      const std::size_t accepted = calls.accepted();
      const std::size_t on_their_way = accepted - std::min(accepted, calls.reported());
      if (on_their_way <= places) continue;
      calls.note(fmt::format("submit took a call with {} on their way, max_in_flight is {}",
                             on_their_way - 1, places));
      return;
    }
    if (code != ASSAY_RESOURCE_EXHAUSTED) {
      calls.note(fmt::format("submit refused call {} with {}, wanted: RESOURCE_EXHAUSTED", number,
                             code_name(code)));
    } else if (calls.accepted() < places) {
      calls.note(
          fmt::format("submit says that the queue is full after {} calls, max_in_flight is {}",
                      calls.accepted(), places));
    }
    return;
  }
}

void expect_unknown(CallsInFlight& calls, std::uint64_t ticket, const char* what) {
  const std::int32_t code = calls.cancel(ticket);
  if (code == ASSAY_NOT_FOUND) return;
  calls.note(fmt::format("cancel of {} returned {}, wanted: NOT_FOUND", what, code_name(code)));
}

void cancel_last(host::RuntimeBackend& runtime, CallsInFlight& calls) {
  if (!runtime.can_cancel()) return;
  calls.hold(true);
  for (std::size_t number = 0; number < runtime.max_in_flight(); ++number) {
    if (calls.submit(number) != ASSAY_OK) calls.note("submit refused a call that has a place");
  }
  const std::uint64_t ticket = calls.last_ticket();
  const std::int32_t code = calls.cancel(ticket);
  if (code != ASSAY_OK && code != ASSAY_NOT_FOUND) {
    calls.note(fmt::format("cancel of a submitted call returned {}", code_name(code)));
  }
  if (code == ASSAY_NOT_FOUND && calls.code_of(ticket) == ASSAY_UNKNOWN) {
    calls.note("cancel says NOT_FOUND of a call that is on its way");
  }
  calls.hold(false);
  calls.wait_for_all();
  expect_unknown(calls, ticket, "a call that has completed");
  expect_unknown(calls, ticket + 1, "a call that never was");
}

}  // namespace

Result<Finding> submit_completes(const Context& context, const Json& arguments) {
  return with_calls(context, arguments, false, [](host::RuntimeBackend&, CallsInFlight& calls) {
    for (std::size_t number = 0; number < kCalls; ++number) submit_patiently(calls, number);
  });
}

Result<Finding> full_queue(const Context& context, const Json& arguments) {
  return with_calls(context, arguments, false, fill_queue);
}

Result<Finding> submit_inside_completion(const Context& context, const Json& arguments) {
  return with_calls(
      context, arguments, false, [](host::RuntimeBackend& runtime, CallsInFlight& calls) {
        // With one place the call that is being reported may still hold it.
        const bool may_be_full = runtime.max_in_flight() == 1;
        calls.set_on_complete([&calls, may_be_full] {
          const std::size_t number = calls.accepted();
          if (number >= kChain) return;
          const std::int32_t code = calls.submit(number);
          if (code == ASSAY_OK || (may_be_full && code == ASSAY_RESOURCE_EXHAUSTED)) return;
          calls.note(fmt::format("submit inside a completion returned {}", code_name(code)));
        });
        submit_patiently(calls, 0);
        calls.wait_for_all();
      });
}

Result<Finding> cancel(const Context& context, const Json& arguments) {
  return with_calls(context, arguments, false, cancel_last);
}

Result<Finding> close_with_calls(const Context& context, const Json& arguments) {
  return with_calls(context, arguments, true,
                    [](host::RuntimeBackend& runtime, CallsInFlight& calls) {
                      calls.hold(true);  // what comes behind the first call waits
                      for (std::size_t number = 0; number < runtime.max_in_flight(); ++number) {
                        const std::int32_t code = calls.submit(number);
                        if (code == ASSAY_OK || code == ASSAY_RESOURCE_EXHAUSTED) continue;
                        calls.note(fmt::format("submit failed with {}", code_name(code)));
                      }
                    });
}

}  // namespace assay::drill
