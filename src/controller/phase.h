#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "worker/outcome.h"

namespace assay::controller {

// One entry of result.json's `phases`.
struct PhaseRecord {
  std::string name;
  std::optional<std::int64_t> batch_size;
  worker::PhaseEnd end;
  std::int64_t wall_ns = 0;
  std::optional<std::int64_t> peak_rss_bytes;  // of the worker; none when there was no worker
  bool cached = false;
};

// What a phase came to: a value when its work was done, though its backend may have crashed in
// close afterwards, and always the record.
template <typename T>
struct PhaseResult {
  PhaseRecord record;
  std::optional<T> value;
};

// Told how a run goes. All calls come from the thread that called run().
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // The run waits for something outside of it; `what` is a sentence.
  virtual void waiting(const std::string& /*what*/) {}
  virtual void phase_started(const std::string& /*name*/) {}
  // `done` of `total` units ("samples", "calls", "%"); total 0: unknown.
  virtual void progress(std::uint64_t /*done*/, std::uint64_t /*total*/, const char* /*unit*/) {}
  // What the backend says that it is doing now.
  virtual void stage(const std::string& /*what*/) {}
  virtual void phase_finished(const PhaseRecord& /*record*/) {}
};

}  // namespace assay::controller
