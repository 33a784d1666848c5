#pragma once

// What the user may choose (CPU.json), and the artifact's own record of it (options.json).

#include <optional>
#include <string>
#include <vector>

#include "assay/backend.hpp"

namespace cpu {

struct Options {
  std::optional<int> intra_op_threads;     // none: one per usable CPU
  std::optional<int> inter_op_threads;     // none: one per usable CPU; for parallel execution only
  std::string graph_optimization = "all";  // all, extended, basic, none
  std::string execution_mode = "sequential";  // sequential, parallel
};

// The answers in configs.interact_info. Throws ASSAY_INVALID_ARGUMENT naming what is accepted.
Options options_from_answers(const assay::backend::Document& configs);

// Everything that load needs, so that the artifact can be moved and run without its configs.
struct Artifact {
  std::string folder;  // where it lies now
  std::string format;
  std::string model;  // file, relative to the folder
  Options options;
  // Outputs, by position, whose shape the model's symbolic dimensions tell rightly beforehand: seen
  // to be so in a run.
  std::vector<bool> shape_known;
};

// Writes options.json; the same bytes for the same artifact.
void write_artifact(const Artifact& artifact);

// Throws ASSAY_NOT_FOUND when there is no options.json, ASSAY_DATA_LOSS when it is not ours.
Artifact read_artifact(const std::string& folder);

}  // namespace cpu
