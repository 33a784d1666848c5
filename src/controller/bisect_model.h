#pragma once

// One model file, compiled on one backend and called, in a worker of its own.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/bisect_tolerance.h"
#include "controller/phase.h"
#include "controller/session.h"
#include "dataset/dataset.h"
#include "host/manifest.h"
#include "workload/plan.h"

namespace assay::controller {

// A backend as it is asked again and again: its options, and where its workers write.
struct BisectBackend {
  SessionSettings session;
  host::Manifest manifest;
  JsonValue interact_info;
};

// What a model is run on.
struct ModelCalls {
  std::filesystem::path model;
  std::string configs;                  // JSON text, as the backend gets it
  std::int64_t batch_size = 1;          // of the first dimension of its inputs
  std::vector<const TensorSet*> calls;  // inputs of each call; may hold more than it takes
  std::vector<std::string> inputs;      // names of those it takes, in its order
  const dataset::Dataset* calibration = nullptr;  // may be null
  bool calibration_disjoint = false;
  std::filesystem::path folder;  // for the artifact; gone afterwards
  std::string name;              // of the worker's log
};

struct ModelAnswers {
  worker::PhaseEnd end;
  bool compiled = false;           // and loaded
  std::string declared_precision;  // "" when the backend says nothing
  std::vector<TensorSet> outputs;  // of each call that was answered
  std::int64_t wall_ns = 0;

  bool ok() const { return end.ok(); }
  // The backend refused the model, without dying of it.
  bool refused() const { return !compiled && end.outcome == worker::Outcome::kFailed; }
};

// Compiles, loads, calls. What the backend does is in the answers; kCancelled when the user
// interrupts.
Result<ModelAnswers> run_model(const BisectBackend& backend, const ModelCalls& calls,
                               RunObserver& observer);

// Configs for a model file that stands alone, such as a cut: what the plan says of the workload
// and of the model as a whole, and the file's own signature. Fills the names and the batch size.
Status describe_model(const workload::Plan& plan, const JsonValue& interact_info,
                      ModelCalls& calls);

}  // namespace assay::controller
