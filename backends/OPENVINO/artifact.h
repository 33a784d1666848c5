#pragma once

// The artifact: options.json, the model as OpenVINO IR, and a compiled object for each batch size.

#include <cstdint>
#include <string>
#include <vector>

#include "assay/backend.hpp"
#include "options.h"

namespace openvino {

// What OpenVINO exported, and what it fits.
struct CompiledBatch {
  std::int64_t batch_size = 1;
  std::string file;  // relative to the artifact folder
};

// Everything that load needs, so that the artifact can be moved and run without its configs.
struct Artifact {
  std::string folder;  // where it lies now
  Options options;
  std::string model;                    // IR file, relative to the folder
  std::vector<CompiledBatch> compiled;  // by batch size
  std::string requirements;             // OpenVINO's: release and instruction set
  std::string build;                    // of the OpenVINO that compiled
  std::string device;                   // name of the processor that it compiled for
  std::string precision;                // "f32": what OpenVINO said that it computes in
  std::vector<std::string> inputs;      // names by position
  std::vector<std::string> outputs;
  bool follows_batch = false;  // a fixed batch that was seen to be no part of the model

  // The object for this batch size, or nullptr.
  const CompiledBatch* object_for(std::int64_t batch_size) const;
};

// Writes options.json; the same bytes for the same artifact.
void write_artifact(const Artifact& artifact);

// Throws ASSAY_NOT_FOUND when there is no options.json, ASSAY_DATA_LOSS when it is not ours.
Artifact read_artifact(const std::string& folder);

// Throws ASSAY_FAILED_PRECONDITION, naming both sides, when the compiled objects are another
// OpenVINO's or another kind of processor's. There is nothing to fall back to: compile again.
void check_fits_here(const Artifact& artifact);

}  // namespace openvino
