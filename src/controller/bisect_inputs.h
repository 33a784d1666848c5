#pragma once

// Which input a bisection looks at. Internal to controller.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/bisect.h"
#include "controller/bisect_model.h"
#include "controller/evaluation_run.h"

namespace assay::controller {

struct ChosenInput {
  std::size_t index = 0;
  std::string id;
  std::string how;  // a sentence
  TensorSet tensors;
  std::string declared_precision;  // of the model as a whole, as the backend says; "" unknown
  worker::PhaseEnd end;            // of the backend on the model as a whole
  bool refused = false;            // it does not compile it
  // Of an output of this input, relative to the output's largest magnitude; infinite for what is
  // not comparable; none when the backend gave no answer.
  std::optional<double> relative_difference;
};

// Runs the whole model on the samples that the request names, on both sides, and takes the one of
// which an output is furthest off, relative to the output's largest magnitude.
// kFailedPrecondition when the reference does not run the model; kNotFound for a sample that is not
// there.
Result<ChosenInput> choose_input(const BisectRequest& request, const Setup& setup,
                                 const BisectBackend& tested, const BisectBackend& reference,
                                 const std::filesystem::path& folder, RunObserver& observer);

}  // namespace assay::controller
