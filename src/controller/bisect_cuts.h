#pragma once

// Cuts of a model, each computed by the backend under test and by the reference, and compared.
// Memory and disk hold one cut at a time.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "base/result.h"
#include "controller/bisect_model.h"
#include "controller/bisect_search.h"
#include "controller/bisect_tolerance.h"
#include "dataset/dataset.h"
#include "model/onnx_cut.h"
#include "workload/plan.h"

namespace assay::controller {

struct BisectSetup {
  const workload::Plan* plan = nullptr;
  std::filesystem::path model;  // ONNX
  BisectBackend tested;
  BisectBackend reference;        // the CPU backend, as the file has the graph
  JsonValue reference_optimized;  // its answers with the graph rewritten
  BisectPrecision precision;
  std::uint64_t seed = 1;
  const dataset::Dataset* calibration = nullptr;
  bool calibration_disjoint = false;
  std::filesystem::path folder;  // for cuts and artifacts
  RunObserver* observer = nullptr;
};

// What was seen of operators first..last.
struct CutSeen {
  std::int64_t first = 0;
  std::int64_t last = 0;
  CutOutcome outcome = CutOutcome::kUnusable;
  worker::PhaseEnd end;  // of the backend under test
  std::string why;       // of what is unusable, or no comparison: one sentence
  std::vector<TensorDifference> tensors;
  std::vector<std::string> variants;         // healthy ones that the tolerance comes from
  std::vector<std::string> variants_failed;  // and those that could not be run: "name: reason"

  // What one needs to see it again. The model lies there until the next cut.
  std::filesystem::path model;
  std::vector<TensorSpec> declared;  // its outputs, as its file has them
  TensorSet inputs;
  TensorSet reference;
  TensorSet got;

  // The output that is furthest beyond its tolerance; null when none is compared.
  const TensorDifference* worst() const;
};

struct BisectCounts {
  std::int64_t tested_compilations = 0;
  std::int64_t reference_compilations = 0;
  std::int64_t refused = 0;  // cuts that the backend under test did not compile
};

class BisectCuts {
 public:
  // `inputs`: of the model, for one call.
  BisectCuts(BisectSetup setup, TensorSet inputs);

  // Runs the cut first..last on `inputs` on both sides. kCancelled when the user interrupts.
  Result<CutSeen> look(std::int64_t first, std::int64_t last, const TensorSet& inputs);

  // What the reference computes that operators from `first` on may take: the model's inputs and
  // the outputs of the cut 0..`before`; the inputs alone when `before` is negative.
  Result<TensorSet> right_inputs(std::int64_t before);

  const TensorSet& inputs() const { return inputs_; }
  const BisectSetup& setup() const { return setup_; }
  const BisectCounts& counts() const { return counts_; }

 private:
  Status write(CutSeen& seen);
  Status run_reference(CutSeen& seen);
  Status run_tested(CutSeen& seen);
  void compare(CutSeen& seen) const;
  Status widen(CutSeen& seen);
  Status add_variant(CutSeen& seen, const std::string& name, const std::filesystem::path& model,
                     const TensorSet& inputs, const JsonValue& interact_info);
  Result<ModelAnswers> run(const BisectBackend& backend, const std::filesystem::path& model,
                           const TensorSet& inputs, const std::string& name);

  BisectSetup setup_;
  TensorSet inputs_;
  std::map<std::string, TensorSpec> known_;  // tensors at cuts so far, as the model has them
  BisectCounts counts_;
};

}  // namespace assay::controller
