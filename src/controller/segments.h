#pragma once

// A model in several segments: what the worker needs to run them one behind the other, and what
// they turned out to be.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "workload/compile_result.h"

namespace assay::controller {

// The backend that runs the segments which fall back, with its default options.
struct FallbackBackend {
  std::filesystem::path library;
  std::string interact_info;  // JSON text: the answers to its questions
};

// One found among `backends`, "<HW>/manifest.json"; none when the CPU backend is not among them.
std::optional<FallbackBackend> find_fallback(const std::vector<std::filesystem::path>& backends);

// The worker's argument "segments" of load; null when the backend runs the model whole, that is for
// one segment that does not fall back. `configs` and `compile_result` are JSON text as backends get
// and write them.
//   kInvalidArgument     a fallback segment names no model file that the CPU backend takes
//   kNotFound            it names one that is not there
//   kUnavailable         there is no CPU backend
//   otherwise as order_segments
Result<Json> segments_to_load(const std::string& configs, const std::string& compile_result,
                              const std::filesystem::path& artifact_folder, std::int64_t batch_size,
                              const std::optional<FallbackBackend>& fallback);

// What a segment did in one pass over the samples, outside any timed window.
struct SegmentUse {
  std::int64_t segment = 0;
  bool is_fallback = false;
  std::string version;  // of what ran it
  std::uint64_t calls = 0;
  std::int64_t wall_ns = 0;
};
Result<std::vector<SegmentUse>> segment_uses(const Json& worker_answer);
Json to_json(const std::vector<SegmentUse>& uses);

// Operators of the model, and those of them that lie in fallback segments.
struct OperatorCount {
  std::int64_t all = 0;
  std::int64_t fallback = 0;

  double device_percent() const {
    return 100.0 * static_cast<double>(all - fallback) / static_cast<double>(all);
  }
};
// None where the model or a fallback segment is no ONNX file that can be read.
std::optional<OperatorCount> count_operators(const std::filesystem::path& model,
                                             const workload::CompileResult& compiled,
                                             const std::filesystem::path& artifact_folder);

// result.json's compile.coverage. `hardware_type` is the backend under test.
Json coverage_json(const std::string& hardware_type, const workload::CompileResult& compiled,
                   const std::optional<OperatorCount>& operators,
                   const std::vector<SegmentUse>& uses);

// "" when what the backend claims agrees with what was counted, to one per cent of the graph.
std::string coverage_contradiction(const workload::CompileResult& compiled,
                                   const OperatorCount& operators);

}  // namespace assay::controller
