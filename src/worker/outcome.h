#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::worker {

// How a phase ended.
enum class Outcome { kOk, kFailed, kCrashed, kTimedOut, kOutOfMemory, kSkipped };

// "ok", "failed", "crashed", "timed_out", "out_of_memory", "skipped": the words of result.json.
std::string_view name_of(Outcome outcome);

// An outcome and, unless it is ok, why.
struct PhaseEnd {
  Outcome outcome = Outcome::kOk;
  std::string reason;
  std::vector<std::string> stack;  // of a worker that was stuck: threads and their frames

  bool ok() const { return outcome == Outcome::kOk; }
};

}  // namespace assay::worker
