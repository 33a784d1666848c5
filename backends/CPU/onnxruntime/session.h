#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "module.h"
#include "onnxruntime/call_state.h"
#include "onnxruntime/ort.h"
#include "onnxruntime/output_plan.h"

namespace cpu {

struct SessionRequest {
  std::string model_path;
  Options options;
  int cpus = 1;              // threads where the options leave them open
  std::string profile_path;  // not empty: record a profile there (ONNX Runtime adds to the name)
};

// One model in ONNX Runtime. Input and output names, shapes and dtypes are the session's own.
class OnnxSession {
 public:
  // Throws ONNX Runtime's reason when the model cannot be built.
  OnnxSession(std::shared_ptr<OnnxRuntime> runtime, const SessionRequest& request);

  const std::vector<assay::backend::TensorSpec>& inputs() const { return inputs_; }
  const std::vector<assay::backend::TensorSpec>& outputs() const { return outputs_; }
  const std::vector<ONNXTensorElementDataType>& input_types() const { return input_types_; }
  Ort::Session& get() { return session_; }

  // Runs with memory of ONNX Runtime's own for the outputs. Any number of threads.
  std::vector<Ort::Value> run(const std::vector<Ort::Value>& inputs);

  // For each output, its rank in a run and whether its plan told its shape.
  std::vector<OutputFact> compare_plans(const std::vector<Ort::Value>& inputs,
                                        const std::vector<Ort::Value>& outputs) const;
  // Goes by such facts from now on: a rank that the model leaves open is taken from them, and an
  // output without a fact, or with one against its plan, gets its memory after the run. Not beside
  // predict.
  void learn(const std::vector<OutputFact>& facts);

  // As Model::predict. Outputs with a plan are written by the model itself; others are copied once.
  // With the memory and shapes of lately it allocates nothing beyond what ONNX Runtime does. Any
  // number of threads.
  void predict(const assay::backend::Inputs& inputs, assay::backend::Outputs& outputs) const;

 private:
  void read_inputs();
  void read_outputs();
  std::unique_ptr<CallState> make_state() const;
  void predict(CallState& state, const assay::backend::Inputs& inputs,
               assay::backend::Outputs& outputs) const;
  OrtValue* planned_output(std::size_t index, CallState& state,
                           const assay::backend::Inputs& inputs,
                           assay::backend::Outputs& outputs) const;
  void copy_output(std::size_t index, const OrtValue* value,
                   assay::backend::Outputs& outputs) const;

  std::shared_ptr<OnnxRuntime> runtime_;
  const OrtApi* api_;
  Ort::MemoryInfo memory_;
  Ort::Session session_;
  std::vector<assay::backend::TensorSpec> inputs_;
  std::vector<assay::backend::TensorSpec> outputs_;
  std::vector<DeclaredShape> input_shapes_;
  std::vector<ONNXTensorElementDataType> input_types_;
  std::vector<ONNXTensorElementDataType> output_types_;
  std::vector<std::optional<OutputPlan>> plans_;  // one per output
  std::vector<const char*> input_names_;          // into inputs_
  std::vector<const char*> output_names_;         // into outputs_
  mutable IdleStates idle_;
};

}  // namespace cpu
