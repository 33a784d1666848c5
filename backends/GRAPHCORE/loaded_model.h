#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "artifact.h"
#include "device_state.h"
#include "host_session.h"

namespace graphcore {

// Values that did not fit into fp16 since the model was loaded.
struct OverflowCount {
  std::uint64_t values = 0;
  std::string first_op;      // the first in the graph's order that overflowed, "" for none
  std::string first_tensor;  // its result
};

// A model ready to run. Any number of threads may predict at once.
class LoadedModel {
 public:
  // `batch` is that of one step; a call takes samples_per_call(batch, ...) of them.
  LoadedModel(Artifact artifact, const assay::backend::Document& configs, std::int64_t batch,
              int threads);

  const assay::backend::Signature& signature() const { return signature_; }
  std::int64_t samples() const { return batch_ * steps_; }
  std::uint64_t seed() const { return seed_; }
  const Options& options() const { return artifact_.options; }

  // Refuses, before anything runs, inputs that are not of a whole call. Throws ASSAY_OUT_OF_RANGE
  // for an int64 that int32 cannot hold, and with fp_exceptions when a value overflowed.
  void predict(const assay::backend::Inputs& inputs, assay::backend::Outputs& outputs);

  // As predict, without the outputs, for what overflows() then says.
  void try_run(const assay::backend::Inputs& inputs);

  OverflowCount overflows() const;

 private:
  // One input: how the memory of a call divides into steps.
  struct InputPlan {
    ONNXTensorElementDataType type;
    std::int64_t batch_axis = -1;  // 0, or -1: every step takes the whole
    std::int64_t rows = 1;         // of a step along the axis; -1: as the call has it
    bool checks_range = false;
  };

  void read_signature(const assay::backend::Document& configs);
  void check_inputs(const assay::backend::Inputs& inputs) const;
  std::vector<Ort::Value> step_inputs(const assay::backend::Inputs& inputs, std::int64_t step,
                                      std::int64_t& seed) const;
  void store(std::vector<Ort::Value> results, std::int64_t step, std::vector<void*>& memory,
             std::vector<std::size_t>& step_bytes, assay::backend::Outputs& outputs) const;
  std::uint64_t total_overflows() const;

  std::shared_ptr<OnnxRuntime> runtime_;
  Artifact artifact_;
  std::int64_t batch_;
  std::int64_t steps_;
  std::uint64_t seed_ = 0;
  bool draws_each_call_ = false;  // no seed was given: no two calls draw the same
  std::atomic<std::uint64_t> calls_{0};
  DeviceState state_;
  IpuOperators operators_;
  Ort::Session session_{nullptr};
  assay::backend::Signature signature_;
  std::vector<InputPlan> plans_;
  std::vector<ONNXTensorElementDataType> output_types_;
  std::vector<const char*> input_names_;   // into artifact_
  std::vector<const char*> output_names_;  // into artifact_
};

}  // namespace graphcore
