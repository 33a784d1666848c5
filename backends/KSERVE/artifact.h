#pragma once

// The artifact: server.json, which says where the model is and what was found there.

#include <string>

#include "assay/backend.hpp"
#include "options.h"
#include "remote_model.h"

namespace kserve {

inline constexpr const char* kArtifactFile = "server.json";

struct Artifact {
  Options options;  // with the transport that the trial settled
  ServerInfo server;
  std::string platform;
  assay::backend::Signature declared;   // by the server; lists may be empty
  assay::backend::Signature signature;  // as it is used
  bool binary_answers = false;          // the trial's answer came as bytes
  std::string trial;                    // what the trial showed, a sentence
};

// Writes server.json at `path`; the same bytes for the same artifact.
void write_artifact(const Artifact& artifact, const std::string& path);

// Throws ASSAY_NOT_FOUND when there is none, ASSAY_DATA_LOSS when it is not ours.
Artifact read_artifact(const std::string& path);

}  // namespace kserve
