#pragma once

// What can be wrong with the wrapper. A new fault is a class and a row in the file of its kind, a
// choice in WRAPPER.json, and a test.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/backend.hpp"
#include "call.h"

namespace wrapper {

// What a fault is made from, after the wrapped backend has loaded.
struct FaultSetup {
  assay::backend::Document configs;
  std::string artifact_folder;
  assay::backend::Signature signature;

  // The options of WRAPPER.json.
  double rate() const { return configs.number("interact_info.fault_rate", 0.1); }
  std::uint64_t after(std::int64_t otherwise) const;
  std::int64_t seed(std::int64_t otherwise) const {
    return configs.integer("interact_info.fault_seed", otherwise);
  }
};

// One fault of one loaded handle. Any number of calls at once.
class Fault {
 public:
  virtual ~Fault() = default;
  // Does the whole call: computes, and delivers the outputs.
  virtual void infer(const Call& call) = 0;
};

// A fault that changes the right answer.
class AnswerFault : public Fault {
 public:
  void infer(const Call& call) final {
    Answer answer = call.compute();
    change(answer, call);
    call.deliver(answer);
  }

 protected:
  virtual void change(Answer& answer, const Call& call) = 0;
};

struct FaultRow {
  const char* name;
  // Throws ASSAY_INVALID_ARGUMENT when the fault would be none with this model.
  std::unique_ptr<Fault> (*make)(const FaultSetup& setup);
};

template <typename FaultClass>
std::unique_ptr<Fault> make_fault(const FaultSetup& /*setup*/) {
  return std::make_unique<FaultClass>();
}
template <typename FaultClass>
std::unique_ptr<Fault> make_fault_from(const FaultSetup& setup) {
  return std::make_unique<FaultClass>(setup);
}

// The tables, one per kind.
std::span<const FaultRow> state_faults();      // what stays from call to call
std::span<const FaultRow> batch_faults();      // samples and callers that touch each other
std::span<const FaultRow> compile_faults();    // what a compilation leaves behind
std::span<const FaultRow> random_faults();     // what chance or the heap decides
std::span<const FaultRow> pipeline_faults();   // right answers to wrongly prepared inputs
std::span<const FaultRow> picture_variants();  // no faults: inputs prepared a little differently
std::span<const FaultRow> model_faults();      // another model than the one that was given

// The chosen fault: interact_info.fault, "none" without it. Throws ASSAY_INVALID_ARGUMENT naming
// the known ones.
std::string chosen_fault(const assay::backend::Document& configs);

// Null for "none".
std::unique_ptr<Fault> make_chosen_fault(const FaultSetup& setup);

// What compile_flaky does at the end of a compilation; nothing for any other fault.
void mark_artifact(const assay::backend::Document& configs, const std::string& artifact_folder);

// What the faults of a model do at the end of a compilation, to the model in the artifact.
void change_model(const assay::backend::Document& configs, const std::string& artifact_folder);

// What the backend says of itself: with `half` that it computes in FP16.
std::string declared_result(const assay::backend::Document& configs, std::string result);

}  // namespace wrapper
