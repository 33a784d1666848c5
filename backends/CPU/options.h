#pragma once

// What the user may choose (CPU.json), and the artifact's own record of it (options.json).

#include <cstddef>
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

// What a run told about one output.
struct OutputFact {
  std::size_t rank = 0;      // a model may leave it open
  bool shape_known = false;  // the model's symbolic dimensions tell its shape rightly beforehand
};

// Everything that load needs, so that the artifact can be moved and run without its configs.
struct Artifact {
  std::string folder;  // where it lies now
  std::string format;
  std::string model;  // file, relative to the folder
  Options options;
  std::vector<OutputFact> outputs;  // by position; empty when no run told
};

// Writes options.json; the same bytes for the same artifact.
void write_artifact(const Artifact& artifact);

// Throws ASSAY_NOT_FOUND when there is no options.json, ASSAY_DATA_LOSS when it is not ours.
Artifact read_artifact(const std::string& folder);

}  // namespace cpu
