#include "workload/compile_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/file.h"
#include "workload/comma_list.h"
#include "workload/schemas.h"

namespace assay::workload {
namespace fs = std::filesystem;
namespace {

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

template <typename T>
std::optional<T> optional_value(const Json& json, const char* key) {
  const auto member = json.find(key);
  if (member == json.end() || member->is_null()) return std::nullopt;
  return member->get<T>();
}

class ResultReader {
 public:
  explicit ResultReader(const JsonFile& file) : file_(file) {}

  Result<CompileResult> read() {
    problems_ = check_schema(compile_result_schema_json, file_);
    if (!problems_.empty()) return to_status(std::move(problems_));
    result_.document = JsonValue(file_.value());
    read_fields(file_.value());
    read_segments();
    check_contradictions();
    if (!problems_.empty()) return to_status(std::move(problems_));
    return std::move(result_);
  }

 private:
  void report(const std::string& pointer, std::string message) {
    problems_.push_back(file_.problem(pointer, std::move(message)));
  }

  void warn(const std::string& pointer, std::string message) {
    result_.warnings.push_back(to_string(file_.problem(pointer, std::move(message))));
  }

  void read_fields(const Json& json) {
    result_.model = json.value("model", "");
    result_.framework = json.value("framework", "");
    result_.compile_precision = json.at("compile_precision").get<std::string>();
    result_.compile_status = json.at("compile_status").get<std::string>();
    result_.sg_percent = json.at("sg_percent").get<double>();
    result_.simulated = json.value("simulated", false);
    result_.declared_instance_count = optional_value<std::int64_t>(json, "instance_count");
    result_.declared_device_count = optional_value<std::int64_t>(json, "device_count");
    result_.max_batch_size = optional_value<std::int64_t>(json, "max_batch_size");
    read_input_types(json.value("input_type", Json()));
    read_optimizations(json.value("optimizations", Json()));
  }

  void read_input_types(const Json& json) {
    if (json.is_string()) warn("/input_type", "text, taken for a list");
    for (const std::string& type : name_list(json)) result_.input_types.push_back(upper(type));
    result_.document.mutable_value()["input_type"] = result_.input_types;
  }

  // Text and lists name what was done; a map says how.
  void read_optimizations(const Json& json) {
    Json map = Json::object();
    if (json.is_object()) map = json;
    if (json.is_string() || json.is_array()) {
      if (!json.empty()) warn("/optimizations", "not a map, taken for a map of names");
      for (const std::string& name : name_list(json)) map[name] = true;
    }
    result_.document.mutable_value()["optimizations"] = map;
    result_.optimizations = JsonValue(map);
  }

  void read_segments() {
    const Json segments = file_.value().value("segments", Json());
    for (std::size_t i = 0; i < segments.size(); ++i) read_segment(segments[i], i);
    if (result_.segments.empty() && result_.succeeded()) {
      warn("/segments", "none given: which object serves which batch size is not known");
    }
  }

  void read_segment(const Json& json, std::size_t position) {
    const std::string at = fmt::format("/segments/{}", position);
    Segment segment;
    segment.index = json.value("sg_idx", static_cast<std::int64_t>(position));
    segment.is_fallback = json.value("is_fallback", false);
    segment.inputs = read_map(json, at, "input_tensor_map", position);
    segment.outputs = read_map(json, at, "output_tensor_map", position);
    const Json compiled = json.value("compiled_model", Json());
    for (std::size_t i = 0; i < compiled.size(); ++i) {
      read_object(compiled[i], fmt::format("{}/compiled_model/{}", at, i), segment);
    }
    const bool needs_object = !segment.is_fallback && result_.succeeded();
    if (needs_object && segment.compiled.empty()) {
      report(
          at + "/compiled_model",
          "no object, but compile_status is \"success\"; accepted: an object for each batch size");
    }
    for (const Segment& other : result_.segments) {
      if (other.index != segment.index) continue;
      report(at + "/sg_idx", fmt::format("found {} twice, accepted: each once", segment.index));
    }
    result_.segments.push_back(std::move(segment));
  }

  TensorMap read_map(const Json& segment, const std::string& at, const char* key,
                     std::size_t position) {
    TensorMap map;
    const Json json = segment.value(key, Json());
    Json normalised = Json::object();
    if (json.is_object()) {
      for (const auto& member : json.items()) {
        const bool shaped = member.value().is_array();
        map.emplace_back(member.key(),
                         shaped ? std::optional(member.value().get<Shape>()) : std::nullopt);
        normalised[member.key()] = member.value();
      }
    } else {
      if (json.is_string()) warn(fmt::format("{}/{}", at, key), "text, taken for a map of names");
      for (const std::string& name : name_list(json)) {
        map.emplace_back(name, std::nullopt);
        normalised[name] = nullptr;
      }
    }
    result_.document.mutable_value()["segments"][position][key] = normalised;
    return map;
  }

  void read_object(const Json& json, const std::string& at, Segment& segment) {
    CompiledObject object;
    object.batch_size = json.at("compiled_bs").get<std::int64_t>();
    const Json name = json.value("compiled_obj", Json());
    if (name.is_string()) {
      object.object = name.get<std::string>();
    } else if (!name.is_null()) {
      object.object = name.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    if (object.object.empty() && result_.succeeded()) {
      report(at + "/compiled_obj",
             "missing, but compile_status is \"success\"; accepted: the object's path or name");
    }
    for (const CompiledObject& other : segment.compiled) {
      if (other.batch_size != object.batch_size) continue;
      report(at + "/compiled_bs",
             fmt::format("found {} twice, accepted: each batch size once", object.batch_size));
    }
    segment.compiled.push_back(std::move(object));
  }

  void check_contradictions() {
    const auto fallback = std::find_if(result_.segments.begin(), result_.segments.end(),
                                       [](const Segment& segment) { return segment.is_fallback; });
    if (fallback == result_.segments.end() || result_.sg_percent < 100) return;
    report("/sg_percent",
           fmt::format("found {}, but segment {} is a fallback segment; accepted: below 100",
                       result_.sg_percent, fallback->index));
  }

  const JsonFile& file_;
  CompileResult result_;
  std::vector<Problem> problems_;
};

std::string batch_sizes_of(const Segment& segment) {
  std::string text;
  for (const CompiledObject& object : segment.compiled) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", object.batch_size);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

Result<CompileResult> parse_compile_result(const JsonFile& file) {
  if (file.empty()) {
    return to_status({file.problem("", "nothing was given, accepted: an object")});
  }
  return ResultReader(file).read();
}

Result<CompileResult> compile_result_from_backend(const Json& returned, std::string backend) {
  return parse_compile_result(
      JsonFile::from_value(returned, fmt::format("compile result of backend {}", backend)));
}

Result<const CompiledObject*> object_for_batch(const Segment& segment, std::int64_t batch_size,
                                               bool dynamic_batch) {
  for (const CompiledObject& object : segment.compiled) {
    if (object.batch_size == batch_size) return &object;
  }
  if (dynamic_batch && segment.compiled.size() == 1) return &segment.compiled.front();
  return not_found(fmt::format("segment {} has no object for batch size {}, compiled are: {}{}",
                               segment.index, batch_size, batch_sizes_of(segment),
                               dynamic_batch ? "" : " (the model's batch is fixed)"));
}

Status check_objects_exist(const CompileResult& result, const fs::path& folder) {
  std::vector<std::string> missing;
  for (const Segment& segment : result.segments) {
    for (const CompiledObject& object : segment.compiled) {
      std::error_code error;
      if (object.object.empty() || fs::exists(folder / object.object, error)) continue;
      missing.push_back(object.object);
    }
  }
  if (missing.empty()) return ok_status();
  return not_found(fmt::format("compile says success, but {} {} not in {}", quoted_list(missing),
                               missing.size() == 1 ? "is" : "are", quoted(folder)));
}

}  // namespace assay::workload
