// Drills of several handles, several threads, and of loading again and again.

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "drill/answers.h"
#include "drill/drills.h"
#include "drill/job.h"
#include "drill/resources.h"
#include "drill/slope.h"

namespace assay::drill {
namespace {

// Kept below the calls that a handle gets in the check of repetition, so that a handle which
// changes with the number of its calls is found there.
constexpr std::int64_t kCallsPerThread = 8;
constexpr std::size_t kThreads = 3;

Result<Job> job_of(const Json& arguments) {
  ASSIGN_OR_RETURN(const Json description, argument<Json>(arguments, "job"));
  return job_from_json(description);
}

// What one thread came to.
struct Share {
  Status status;
  std::string violation;
};

// `lock` is null where calls may overlap.
Share call_again_and_again(host::RuntimeBackend& runtime, const std::vector<Case>& cases,
                           std::size_t first, std::mutex* lock) {
  for (std::int64_t call = 0; call < kCallsPerThread; ++call) {
    const Case& one = cases[(first + static_cast<std::size_t>(call)) % cases.size()];
    std::unique_lock<std::mutex> alone;
    if (lock != nullptr) alone = std::unique_lock(*lock);
    const Result<std::vector<Tensor>> got = answer(runtime, one.inputs);
    if (!got.ok()) return {got.status(), {}};
    const std::string found = difference(*got, one.outputs);
    if (!found.empty()) return {{}, fmt::format("call {} of a thread: {}", call, found)};
  }
  return {};
}

// Thread k calls `run(k)`; all begin together.
template <typename Run>
Result<Finding> in_threads(std::size_t count, Run run) {
  std::vector<Share> shares(count);
  {
    std::barrier start(static_cast<std::ptrdiff_t>(count));
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t k = 0; k < count; ++k) {
      threads.emplace_back([&, k] {
        start.arrive_and_wait();
        shares[k] = run(k);
      });
    }
  }
  for (const Share& share : shares) {
    RETURN_IF_ERROR(share.status);
    if (!share.violation.empty()) return broken(share.violation);
  }
  return Finding{};
}

// Creates, loads, calls once, closes and destroys.
Result<std::string> whole_life(const Context& context, const Job& job) {
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, load(*context.library, job));
  ASSIGN_OR_RETURN(const std::vector<Case> cases, cases_for(runtime, job));
  ASSIGN_OR_RETURN(const std::vector<Tensor> got, answer(runtime, cases[0].inputs));
  RETURN_IF_ERROR(runtime.close());
  return difference(got, cases[0].outputs);
}

}  // namespace

Result<Finding> handles_at_once(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const Job job, job_of(arguments));
  std::vector<host::RuntimeBackend> handles;
  for (std::size_t k = 0; k < 2; ++k) {
    ASSIGN_OR_RETURN(host::RuntimeBackend made, load(*context.library, job));
    handles.push_back(std::move(made));
  }
  ASSIGN_OR_RETURN(const std::vector<Case> cases, cases_for(handles[0], job));
  ASSIGN_OR_RETURN(Finding finding, in_threads(handles.size(), [&](std::size_t k) {
                     return call_again_and_again(handles[k], cases, k, nullptr);
                   }));
  // The end of one is not the end of the other.
  RETURN_IF_ERROR(handles[0].close());
  if (finding.violation.empty()) {
    finding.violation = call_again_and_again(handles[1], cases, 0, nullptr).violation;
  }
  RETURN_IF_ERROR(handles[1].close());
  return finding;
}

Result<Finding> threads_on_one_handle(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const Job job, job_of(arguments));
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, load(*context.library, job));
  ASSIGN_OR_RETURN(const std::vector<Case> cases, cases_for(runtime, job));
  const bool any = runtime.thread_rule() == host::ThreadRule::kAny;
  std::mutex one_call;
  ASSIGN_OR_RETURN(Finding finding, in_threads(kThreads, [&](std::size_t k) {
                     return call_again_and_again(runtime, cases, k, any ? nullptr : &one_call);
                   }));
  RETURN_IF_ERROR(runtime.close());
  finding.facts = Json{{"thread_rule", any ? "any" : "one_call"}, {"threads", kThreads}};
  return finding;
}

Result<Finding> load_again(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const Job job, job_of(arguments));
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, load(*context.library, job));
  ASSIGN_OR_RETURN(const std::vector<Case> cases, cases_for(runtime, job));
  std::string violation;
  for (int again = 0; again < 2 && violation.empty(); ++again) {
    RETURN_IF_ERROR(runtime.load(job.load).with_context("load of a loaded handle"));
    ASSIGN_OR_RETURN(const std::vector<Tensor> got, answer(runtime, cases[0].inputs));
    violation = difference(got, cases[0].outputs);
  }
  RETURN_IF_ERROR(runtime.close());
  return broken(violation);
}

// Neither an artifact that is gone nor one whose files are cut may load, and a handle that refused
// one must still take the right one.
Result<Finding> broken_artifact(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const Job job, job_of(arguments));
  ASSIGN_OR_RETURN(const Json folders, argument<Json>(arguments, "broken_folders"));
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, host::RuntimeBackend::create(*context.library));
  Json refusals = Json::array();
  for (const auto& [what, folder] : folders.items()) {
    host::LoadRequest request = job.load;
    request.artifact_folder = folder.get<std::string>();
    const Status status = runtime.load(request);
    if (status.ok()) return broken(fmt::format("load succeeded from an artifact that is {}", what));
    if (status.message().empty()) {
      return broken(fmt::format("load from an artifact that is {} failed without a word", what));
    }
    refusals.push_back(status.to_string());
  }
  RETURN_IF_ERROR(runtime.load(job.load).with_context("load after one that failed"));
  ASSIGN_OR_RETURN(const std::vector<Case> cases, cases_for(runtime, job));
  ASSIGN_OR_RETURN(const std::vector<Tensor> got, answer(runtime, cases[0].inputs));
  RETURN_IF_ERROR(runtime.close());
  return Finding{difference(got, cases[0].outputs), Json{{"refusals", std::move(refusals)}}};
}

Result<Finding> load_cycles(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const Job job, job_of(arguments));
  ASSIGN_OR_RETURN(const std::int64_t cycles, argument<std::int64_t>(arguments, "cycles"));
  std::vector<double> memory_bytes;
  for (std::int64_t cycle = 0; cycle < cycles; ++cycle) {
    const Result<std::string> found = whole_life(context, job);
    if (!found.ok()) return found.status().with_context(fmt::format("cycle {}", cycle));
    if (!found->empty()) return broken(fmt::format("cycle {} of {}: {}", cycle, cycles, *found));
    memory_bytes.push_back(static_cast<double>(own_memory_bytes()));
  }
  // Caches fill and heaps settle in the first half.
  const std::span<const double> settled = std::span(memory_bytes).subspan(memory_bytes.size() / 2);
  const Slope slope = fit_slope(settled);
  return Finding{"", Json{{"cycles", cycles},
                          {"fitted_cycles", settled.size()},
                          {"bytes_per_cycle", slope.per_step},
                          {"standard_error", slope.standard_error},
                          {"bytes_at_end", memory_bytes.empty() ? 0 : memory_bytes.back()}}};
}

// The first lives may leave what is made once per process; later ones may leave nothing.
Result<Finding> what_close_leaves(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const Job job, job_of(arguments));
  constexpr int kLives = 3;
  RETURN_IF_ERROR(whole_life(context, job).status());
  const Resources before = own_resources();
  for (int life = 0; life < kLives; ++life) RETURN_IF_ERROR(whole_life(context, job).status());
  const Resources after = own_resources();
  const std::string more = growth(before, after);
  if (more.empty()) return Finding{"", Json{{"lives", kLives}}};
  return broken(
      fmt::format("after {} more lives of a handle, each closed and destroyed, this process has {}",
                  kLives, more));
}

}  // namespace assay::drill
