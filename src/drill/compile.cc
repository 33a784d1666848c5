// Drills of the compiler.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "drill/drills.h"
#include "host/backend.h"

namespace assay::drill {
namespace {

// Hears the heartbeat and, when asked to, says at the first beat that compile should end.
class Heartbeat {
 public:
  Heartbeat(bool cancels, std::int64_t now_ns) : cancels_(cancels), last_ns_(now_ns) {}

  bool beat(std::int64_t now_ns) {
    const std::scoped_lock lock(mutex_);
    ++beats_;
    hear(now_ns);
    return !cancels_;
  }
  void end(std::int64_t now_ns) {
    const std::scoped_lock lock(mutex_);
    hear(now_ns);
  }
  std::int64_t beats() const { return beats_; }
  std::int64_t longest_silence_ns() const { return longest_silence_ns_; }

 private:
  void hear(std::int64_t now_ns) {
    longest_silence_ns_ = std::max(longest_silence_ns_, now_ns - last_ns_);
    last_ns_ = now_ns;
  }

  const bool cancels_;
  std::mutex mutex_;
  std::int64_t last_ns_;
  std::int64_t beats_ = 0;
  std::int64_t longest_silence_ns_ = 0;
};

std::int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

// With "cancel", compile is asked to end at its first heartbeat.
Result<Finding> compile_model(const Context& context, const Json& arguments) {
  host::CompileRequest request;
  ASSIGN_OR_RETURN(request.configs, argument<std::string>(arguments, "configs"));
  ASSIGN_OR_RETURN(const std::string folder, argument<std::string>(arguments, "artifact_folder"));
  ASSIGN_OR_RETURN(const bool cancels, argument<bool>(arguments, "cancel"));
  request.artifact_folder = folder;
  ASSIGN_OR_RETURN(host::CompileBackend compiler, host::CompileBackend::create(*context.library));
  const std::int64_t start_ns = steady_ns();
  Heartbeat heartbeat(cancels, start_ns);
  request.progress = [&](double /*done*/, std::string_view /*stage*/) {
    return heartbeat.beat(steady_ns());
  };
  host::NoData none;
  const Result<std::string> result = compiler.compile(request, none);
  const std::int64_t end_ns = steady_ns();
  heartbeat.end(end_ns);
  const bool asked_to_end = cancels && heartbeat.beats() > 0;
  if (!result.ok() && !(asked_to_end && result.status().code() == StatusCode::kCancelled)) {
    return result.status();
  }
  Finding finding;
  if (asked_to_end && result.ok()) {
    finding.violation = "compile went on to its end though its heartbeat was answered by 1";
  }
  finding.facts = Json{{"beats", heartbeat.beats()},
                       {"longest_silence_ms", heartbeat.longest_silence_ns() / 1'000'000},
                       {"wall_ms", (end_ns - start_ns) / 1'000'000},
                       {"result", result.ok() ? Json(*result) : Json(nullptr)}};
  return finding;
}

// Every one of "configs" names a model that is none.
Result<Finding> corrupt_model(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const Json jobs, argument<Json>(arguments, "jobs"));
  ASSIGN_OR_RETURN(host::CompileBackend compiler, host::CompileBackend::create(*context.library));
  host::NoData none;
  Json refusals = Json::array();
  for (const Json& job : jobs) {
    ASSIGN_OR_RETURN(const std::string what, argument<std::string>(job, "what"));
    host::CompileRequest request;
    ASSIGN_OR_RETURN(request.configs, argument<std::string>(job, "configs"));
    ASSIGN_OR_RETURN(const std::string folder, argument<std::string>(job, "artifact_folder"));
    request.artifact_folder = folder;
    const Result<std::string> result = compiler.compile(request, none);
    if (result.ok()) {
      const Json said = Json::parse(*result, nullptr, /*allow_exceptions=*/false);
      const bool success = said.is_object() && said.value("compile_status", "") == "success";
      if (success) return broken(fmt::format("compile succeeded on a model file that is {}", what));
      refusals.push_back(*result);
      continue;
    }
    refusals.push_back(result.status().to_string());
  }
  return Finding{"", Json{{"refusals", std::move(refusals)}}};
}

}  // namespace assay::drill
