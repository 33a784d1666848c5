#pragma once

// What a backend says it compiled. Its counts are its own claims and are kept as such.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_file.h"
#include "base/result.h"
#include "tensor/shape.h"

namespace assay::workload {

struct CompiledObject {
  std::int64_t batch_size = 1;
  std::string object;  // a path or a name that the backend understands; "" when it needs none
};

// Inputs or outputs of a segment; the shape is absent when the backend gave names only.
using TensorMap = std::vector<std::pair<std::string, std::optional<Shape>>>;

struct Segment {
  std::int64_t index = 0;
  bool is_fallback = false;
  TensorMap inputs;
  TensorMap outputs;
  std::vector<CompiledObject> compiled;
};

struct CompileResult {
  std::string model;
  std::string framework;
  std::string compile_precision;                        // free text: "FP16", "int16_mix"
  JsonValue optimizations;                              // object
  std::optional<std::int64_t> declared_instance_count;  // as the backend declares, not measured
  std::optional<std::int64_t> declared_device_count;
  std::vector<std::string> input_types;  // upper case
  std::optional<std::int64_t> max_batch_size;
  std::string compile_status;  // "success", "failed", or the backend's own word
  double sg_percent = 0;       // share of the graph on the device, 0..100
  bool simulated = false;      // a model of the device runs it, on this host
  std::vector<Segment> segments;
  std::vector<std::string> warnings;  // what had to be normalised
  JsonValue document;                 // as the backend gave it, normalised; unknown keys kept

  bool succeeded() const { return compile_status == "success"; }
};

// Normalises (text where a list or a map is meant) and refuses contradictions: success with a
// missing object, sg_percent 100 with a fallback segment. Unknown keys are the vendor's and are
// kept. Every problem in one kInvalidArgument.
Result<CompileResult> parse_compile_result(const JsonFile& file);
Result<CompileResult> compile_result_from_backend(const Json& returned, std::string backend);

// The object of `segment` that serves batches of `batch_size`: the one compiled for it, or, when
// there is one only and the model's batch is free (`dynamic_batch`), that one. kNotFound lists what
// there is. The pointer lives as long as `segment`.
Result<const CompiledObject*> object_for_batch(const Segment& segment, std::int64_t batch_size,
                                               bool dynamic_batch);

// Whether each object that is named is a file, or lies in `folder`; kNotFound names those that do
// not. Only for backends whose objects are files: a name may mean something to the backend alone.
Status check_objects_exist(const CompileResult& result, const std::filesystem::path& folder);

}  // namespace assay::workload
