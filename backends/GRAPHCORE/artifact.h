#pragma once

// The artifact: a folder of typed, sized, hashed parts, listed in artifact.json. It is a format of
// our own (docs/reference/ipu-model.md), not PopEF.
//
//   graph         ONNX without its weights     weights   values, one after the other
//   weight_index  name, dtype, dims, offset    anchors   what crosses, by name and handle
//   plan          memory and cycles            options   requested and effective
//   lowering      what was done to the graph   toolchain what compiled it

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lower.h"
#include "options.h"

namespace graphcore {

inline constexpr int kArtifactVersion = 1;

// What artifact.json says of one part.
struct Part {
  std::string type;  // "graph", "weights", ...
  std::string file;  // relative to the folder, without a folder of its own
  std::uint64_t size_bytes = 0;
  std::string sha256;
};

struct Index {
  std::string cache_key;
  std::vector<Part> parts;  // by type
};

// The content of artifact.json, checked: format and version, types known and each once, names
// without folders. Throws ASSAY_DATA_LOSS naming the member.
Index parse_index(std::string_view text);
std::string index_text(const Index& index);

// What load needs of the parts.
struct Artifact {
  Options options;
  onnx::ModelProto model;  // whole, with weights as fp32 values
  std::vector<Anchor> anchors;
  std::vector<RoundingSite> sites;
};

// Writes the parts (the bytes by type), and then artifact.json. The same bytes for the same parts.
void write_parts(const std::string& folder, const std::map<std::string, std::string>& parts,
                 const std::string& cache_key);

// Every part, compared with its size and hash. Throws ASSAY_NOT_FOUND for a missing one,
// ASSAY_DATA_LOSS for one that was cut or changed, naming the part and both sides.
std::map<std::string, std::string> read_parts(const std::string& folder, Index& index);

// The parts of a lowered model but for the plan.
std::map<std::string, std::string> parts_of(const Lowered& lowered, const Options& options,
                                            const std::string& toolchain);
Artifact artifact_of(const std::map<std::string, std::string>& parts);

}  // namespace graphcore
