#pragma once

// Starts workers for the stability matrix and has them exercise a model. Internal to controller.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "check/stability.h"
#include "controller/stability.h"
#include "controller/stability_batches.h"

namespace assay::controller {

// Environment of a worker beside the manifest's own.
using Environment = std::map<std::string, std::string>;

struct ExerciseCall {
  std::uint64_t calls = 0;
  std::uint32_t callers = 1;
  std::uint64_t seed = 0;
  std::vector<std::uint64_t> order;  // empty: a seeded shuffle of all batches
  double max_seconds = 0;
};

class StabilityRunner {
 public:
  explicit StabilityRunner(const StabilityRequest& request) : request_(&request) {}

  bool stopped() const { return request_->session.stop != nullptr && *request_->session.stop; }

  // A process with the model loaded on a fresh handle; `name` names its log.
  Result<Session> open(const std::string& name, const CompiledModel& model, std::int64_t batch_size,
                       LoadedModel& loaded);
  // A new process with this environment.
  Result<Session> open_new(const std::string& name, const CompiledModel& model,
                           std::int64_t batch_size, const Environment& environment,
                           LoadedModel& loaded);
  // How workers are started that share nothing with the run's own, which ends first when it holds
  // the device for itself.
  SessionSettings unshared() const;
  // Ends the process. kUnavailable when it did not end well.
  Status close(Session& session);
  // The same on a new handle of the same process.
  Status reload(Session& session, const CompiledModel& model, std::int64_t batch_size);

  Result<std::vector<TensorSpec>> input_specs(std::int64_t batch_size) const;
  Result<KnownBatches> decode(const LoadedModel& loaded, Arrangement samples) const;

  // Shares the batches and calls. `max_seconds` of 0: as long as an axis may take.
  Result<check::CallDifferences> exercise(Session& session, const KnownBatches& batches,
                                          const ExerciseCall& call);

  // The outputs' CRCs of these calls on a fresh handle in a fresh process.
  Result<std::vector<std::uint32_t>> replay(const std::string& name, const KnownBatches& batches,
                                            std::vector<std::uint64_t> order,
                                            const Environment& environment);

  // Of the largest process that was closed.
  std::int64_t peak_rss_bytes() const { return peak_rss_bytes_; }

 private:
  struct ModelAt {
    std::string name;
    const CompiledModel* model;
    std::int64_t batch_size;
  };
  Result<Session> start(const SessionSettings& settings, const host::Manifest& manifest,
                        const ModelAt& at, LoadedModel& loaded);

  const StabilityRequest* request_;
  std::int64_t peak_rss_bytes_ = 0;
};

}  // namespace assay::controller
