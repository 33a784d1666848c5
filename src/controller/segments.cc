#include "controller/segments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/json_parse.h"
#include "controller/reference.h"
#include "controller/typed_object.h"
#include "host/manifest.h"
#include "model/onnx_cut.h"
#include "workload/segment_order.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

struct Format {
  const char* extension;
  const char* model_format;
  const char* framework;
};
// What the CPU backend takes, told by the file's name.
constexpr Format kFormats[] = {
    {".onnx", "onnx", "Onnx"}, {".pt", "pt", "Pytorch"}, {".tflite", "tflite", "Tensorflow"}};

bool run_whole(const workload::CompileResult& compiled) {
  return compiled.segments.empty() ||
         (compiled.segments.size() == 1 && !compiled.segments.front().is_fallback);
}

std::vector<std::string> names_of(const workload::TensorMap& map) {
  std::vector<std::string> names;
  for (const auto& [name, shape] : map) names.push_back(name);
  return names;
}

Result<fs::path> fallback_model(const workload::Segment& segment, std::int64_t batch_size,
                                const fs::path& artifact_folder) {
  ASSIGN_OR_RETURN(const workload::CompiledObject* const object,
                   workload::object_for_batch(segment, batch_size, /*dynamic_batch=*/true));
  fs::path path = absolute_text(artifact_folder / object->object);
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  return not_found(fmt::format("compiled_obj {} is no file of the artifact", quoted(path)));
}

// Model info of a segment by itself, from that of the model.
Result<Json> fallback_configs(const Json& configs, const workload::Segment& segment,
                              const fs::path& model, const FallbackBackend& fallback) {
  const std::string extension = model.extension();
  const auto* format = std::ranges::find_if(
      kFormats, [&](const Format& each) { return extension == each.extension; });
  if (format == std::end(kFormats)) {
    return invalid_argument(fmt::format(
        "compiled_obj {}: accepted for the CPU: files *.onnx, *.pt, *.tflite", quoted(model)));
  }
  Json info = configs.value("model_info", Json::object());
  const std::string name = fmt::format("{} segment {}", info.value("name", ""), segment.index);
  info["name"] = info["model"] = name;
  info["model_path"] = model.string();
  info["model_format"] = format->model_format;
  info["framework"] = format->framework;
  info["inputs"] = fmt::format("{}", fmt::join(names_of(segment.inputs), ","));
  info["outputs"] = fmt::format("{}", fmt::join(names_of(segment.outputs), ","));
  Json shapes = Json::object();
  for (const auto& [input, shape] : segment.inputs) {
    if (shape) shapes[input] = *shape;
  }
  info["input_shape"] = std::move(shapes);
  for (const char* of_the_whole : {"input_type", "input_ranges", "layout", "preprocess"}) {
    info.erase(of_the_whole);
  }
  ASSIGN_OR_RETURN(const Json answers, parse_json(fallback.interact_info));
  Json changed = configs;
  changed["model_info"] = std::move(info);
  changed["interact_info"] = answers;
  return changed;
}

Result<Json> fallback_stage(const Json& configs, const workload::Segment& segment,
                            std::int64_t batch_size, const fs::path& artifact_folder,
                            const std::optional<FallbackBackend>& fallback) {
  if (!fallback) return unavailable("it falls back to the CPU, whose backend is not there");
  if (segment.compiled.empty()) {
    return invalid_argument(
        "a fallback without compiled_model; accepted: a model file for the CPU");
  }
  ASSIGN_OR_RETURN(const fs::path model, fallback_model(segment, batch_size, artifact_folder));
  ASSIGN_OR_RETURN(const Json changed, fallback_configs(configs, segment, model, *fallback));
  return Json{{"segment", segment.index},
              {"library", absolute_text(fallback->library)},
              {"configs", changed.dump()}};
}

// The compile result with one of its segments.
Json device_stage(const workload::CompileResult& compiled, std::size_t at) {
  Json alone = compiled.document.get();
  const Json segment = alone["segments"][at];
  alone["segments"] = Json::array({segment});
  return Json{{"segment", compiled.segments[at].index}, {"compile_result", alone.dump()}};
}

}  // namespace

std::optional<FallbackBackend> find_fallback(const std::vector<fs::path>& backends) {
  const Result<host::Manifest> manifest = host::find_backend(kReferenceBackend, backends);
  if (!manifest.ok()) return std::nullopt;
  const Result<JsonValue> answers = reference_answers(*manifest, {});
  if (!answers.ok()) return std::nullopt;
  return FallbackBackend{manifest->library_path(), answers->get().dump()};
}

Result<Json> segments_to_load(const std::string& configs, const std::string& compile_result,
                              const fs::path& artifact_folder, std::int64_t batch_size,
                              const std::optional<FallbackBackend>& fallback) {
  if (compile_result.empty()) return Json();
  ASSIGN_OR_RETURN(const Json returned, parse_json(compile_result));
  ASSIGN_OR_RETURN(const workload::CompileResult compiled,
                   workload::compile_result_from_backend(returned, "under test"));
  if (run_whole(compiled)) return Json();
  ASSIGN_OR_RETURN(const Json parsed, parse_json(configs));
  const workload::ModelEnds model = workload::model_ends(parsed.value("model_info", Json()));
  ASSIGN_OR_RETURN(const std::vector<std::size_t> order,
                   workload::order_segments(compiled.segments, model));
  Json stages = Json::array();
  for (const std::size_t at : order) {
    const workload::Segment& segment = compiled.segments[at];
    Result<Json> stage =
        segment.is_fallback ? fallback_stage(parsed, segment, batch_size, artifact_folder, fallback)
                            : device_stage(compiled, at);
    if (!stage.ok()) return stage.status().with_context(fmt::format("segment {}", segment.index));
    stages.push_back(*std::move(stage));
  }
  return Json{{"stages", std::move(stages)},
              {"inputs", names_of(model.inputs)},
              {"outputs", model.outputs}};
}

Result<std::vector<SegmentUse>> segment_uses(const Json& worker_answer) {
  std::vector<SegmentUse> uses;
  const TypedObject members(worker_answer, "the worker's answer to segments");
  ASSIGN_OR_RETURN(const std::vector<TypedObject> segments, members.list("segments"));
  for (const TypedObject& segment : segments) {
    SegmentUse& use = uses.emplace_back();
    ASSIGN_OR_RETURN(use.segment, segment.integer("segment"));
    ASSIGN_OR_RETURN(use.is_fallback, segment.flag("is_fallback"));
    ASSIGN_OR_RETURN(use.version, segment.text("version"));
    ASSIGN_OR_RETURN(use.calls, segment.count("calls"));
    ASSIGN_OR_RETURN(use.wall_ns, segment.integer("wall_ns"));
  }
  return uses;
}

Json to_json(const std::vector<SegmentUse>& uses) {
  Json list = Json::array();
  for (const SegmentUse& use : uses) {
    list.push_back({{"segment", use.segment},
                    {"is_fallback", use.is_fallback},
                    {"version", use.version},
                    {"calls", use.calls},
                    {"wall_ns", use.wall_ns}});
  }
  return list;
}

std::optional<OperatorCount> count_operators(const fs::path& model,
                                             const workload::CompileResult& compiled,
                                             const fs::path& artifact_folder) {
  const auto count = [](const fs::path& file) -> std::int64_t {
    if (file.extension() != ".onnx") return 0;
    const Result<std::vector<OperatorInfo>> operators = list_operators(file);
    return operators.ok() ? static_cast<std::int64_t>(operators->size()) : 0;
  };
  OperatorCount found{count(model), 0};
  if (found.all == 0) return std::nullopt;
  for (const workload::Segment& segment : compiled.segments) {
    if (!segment.is_fallback || segment.compiled.empty()) continue;
    const std::int64_t here = count(artifact_folder / segment.compiled.front().object);
    if (here == 0) return std::nullopt;
    found.fallback += here;
  }
  // Segments that a tool has rewritten may hold more operators than the model had.
  return found.fallback <= found.all ? std::optional(found) : std::nullopt;
}

Json coverage_json(const std::string& hardware_type, const workload::CompileResult& compiled,
                   const std::optional<OperatorCount>& operators,
                   const std::vector<SegmentUse>& uses) {
  std::int64_t total_ns = 0;
  std::int64_t device_ns = 0;
  for (const SegmentUse& use : uses) {
    total_ns += use.wall_ns;
    if (!use.is_fallback) device_ns += use.wall_ns;
  }
  const auto share = [&](std::int64_t ns) {
    return total_ns > 0 ? Json(static_cast<double>(ns) / static_cast<double>(total_ns)) : Json();
  };
  Json segments = Json::array();
  for (const SegmentUse& use : uses) {
    segments.push_back({{"sg_idx", use.segment},
                        {"ran_on", use.is_fallback ? kReferenceBackend : hardware_type},
                        {"is_fallback", use.is_fallback},
                        {"runtime", use.version},
                        {"calls", use.calls},
                        {"wall_ns", use.wall_ns},
                        {"time_share", share(use.wall_ns)}});
  }
  return Json{{"declared_percent", compiled.sg_percent},
              {"operators", operators ? Json(operators->all) : Json()},
              {"fallback_operators", operators ? Json(operators->fallback) : Json()},
              {"operators_percent", operators ? Json(operators->device_percent()) : Json()},
              {"device_time_share", share(device_ns)},
              {"segments", std::move(segments)}};
}

std::string coverage_contradiction(const workload::CompileResult& compiled,
                                   const OperatorCount& operators) {
  if (std::abs(compiled.sg_percent - operators.device_percent()) <= 1) return "";
  return fmt::format(
      "The backend says that {:.4g} % of the graph is on the device; {} of its {} operators fall "
      "back, which leaves {:.4g} %.",
      compiled.sg_percent, operators.fallback, operators.all, operators.device_percent());
}

}  // namespace assay::controller
