#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "controller/phase.h"
#include "controller/session.h"
#include "dataset/dataset.h"
#include "worker/layout.h"
#include "worker/shared_memory.h"

namespace assay::controller {

// The controller's side of a compilation's events: serves calibration samples into one shared slot,
// one at a time, as the worker asks, and tells the observer how far the backend is.
class CompileEvents {
 public:
  // `calibration` may be null: then there are no samples. Both outlive this.
  CompileEvents(const dataset::Dataset* calibration, RunObserver& observer);

  // Makes the shared slot. Does nothing without calibration data.
  Status open();

  // The `calibration` argument of the worker's compile.
  Json description(bool disjoint) const;
  int fd() const { return calibration_ != nullptr ? memory_.fd() : -1; }

  // Calls `op` while its events are served: the samples go along when there are any. Without a
  // timeout it may take as long as it likes.
  Result<Json> call(Session& session, const std::string& op, Json arguments, bool disjoint,
                    std::optional<std::chrono::seconds> timeout);

  Json on_event(const Json& event);

  std::uint64_t samples_read() const { return samples_read_; }

 private:
  Json read_sample(const Json& event);
  void show_progress(const Json& event);

  const dataset::Dataset* calibration_;
  RunObserver* observer_;
  worker::ArenaLayout layout_;
  worker::SharedMemory memory_;
  std::uint64_t samples_read_ = 0;
};

}  // namespace assay::controller
