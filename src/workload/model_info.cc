#include "workload/model_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/suggest.h"
#include "workload/comma_list.h"
#include "workload/model_info_oddities.h"
#include "workload/schemas.h"

namespace assay::workload {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFetchedPrefix = "fetched:";
constexpr std::string_view kZooPrefix = "model_zoo/";

// Keys that the published guide does not have: a file with one of them is Assay's own.
constexpr std::array<const char*, 12> kOwnKeys = {
    "$schema", "batch_axes", "input_ranges", "preprocess", "label_offset", "reference_model",
    "metric",  "weights",    "source",       "licence",    "credit",       "lossy_conversion"};

// Keys that every published file has.
constexpr std::array<const char*, 10> kPublishedKeys = {
    "model_path", "framework", "framework_version", "model_format", "model_precision",
    "inputs",     "outputs",   "input_shape",       "input_type",   "max_batch_size"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string text_or_empty(const Json& json, const char* key) {
  const auto member = json.find(key);
  return member != json.end() && member->is_string() ? member->get<std::string>() : "";
}

std::string member_pointer(std::string_view key, std::string_view member) {
  return fmt::format("/{}/{}", key, pointer_token(member));
}

// Reads one file, collecting what is wrong with it.
class Reader {
 public:
  Reader(const JsonFile& file, const ModelFolders& folders)
      : file_(file), json_(file.value()), folders_(folders) {}

  Result<ModelInfo> read() {
    problems_ = check_schema(model_info_schema_json, file_);
    if (json_.is_object()) read_name();
    if (!problems_.empty()) return to_status(std::move(problems_));
    read_plain_fields();
    read_model_path();
    read_inputs();
    read_batch_axes();
    read_input_ranges();
    check_layout();
    if (!problems_.empty()) return to_status(std::move(problems_));
    judge_form();
    info_.source = file_;
    return std::move(info_);
  }

 private:
  void report(std::string_view pointer, std::string message) {
    problems_.push_back(file_.problem(pointer, std::move(message)));
  }

  void report_key(std::string_view pointer, std::string message) {
    problems_.push_back(file_.key_problem(pointer, std::move(message)));
  }

  void read_name() {
    const std::string name = text_or_empty(json_, "name");
    const std::string model = text_or_empty(json_, "model");
    if (!json_.contains("name") && !json_.contains("model")) {
      report("/name", "missing, accepted: the model's name, as \"name\" or \"model\"");
    } else if (!name.empty() && !model.empty() && name != model) {
      report("/model",
             fmt::format("found \"{}\", but \"name\" is \"{}\"; accepted: one name", model, name));
    }
    info_.name = name.empty() ? model : name;
  }

  void read_plain_fields() {
    info_.framework = text_or_empty(json_, "framework");
    info_.framework_version = text_or_empty(json_, "framework_version");
    info_.model_format = lower(text_or_empty(json_, "model_format"));
    info_.model_precision = text_or_empty(json_, "model_precision");
    if (const std::string dataset = text_or_empty(json_, "dataset_name"); !dataset.empty()) {
      info_.dataset_name = dataset;
    }
    if (json_.contains("max_batch_size")) {
      info_.max_batch_size = json_.at("max_batch_size").get<std::int64_t>();
    }
    info_.layout = text_or_empty(json_, "layout");
    info_.is_quantized = json_.value("is_quantized", false);
    if (json_.contains("preprocess")) info_.preprocess = JsonValue(json_.at("preprocess"));
    info_.label_offset = json_.value("label_offset", std::int64_t{0});
    info_.lossy_conversion = json_.value("lossy_conversion", false);
    if (const std::string model = text_or_empty(json_, "reference_model"); !model.empty()) {
      info_.reference_model = model;
    }
    if (json_.contains("metric")) info_.metric = JsonValue(json_.at("metric"));
    if (text_or_empty(json_, "weights") != "trained") {
      info_.weights = text_or_empty(json_, "weights");
    }
  }

  void read_model_path() {
    const Json& value = json_.at("model_path");
    if (value.is_object()) {
      read_package(value);
      return;
    }
    std::string text = value.get<std::string>();
    if (text.starts_with(kFetchedPrefix)) {
      info_.fetched = true;
      place_model(folders_.fetched / text.substr(kFetchedPrefix.size()));
      return;
    }
    if (text.starts_with(kZooPrefix)) text.erase(0, kZooPrefix.size());
    place_model(folders_.model_zoo / text);  // an absolute path stays itself
    if (!info_.model_found && !folders_.fetched.empty() && exists(folders_.fetched / text)) {
      info_.fetched = true;
      place_model(folders_.fetched / text);
    }
  }

  void read_package(const Json& value) {
    PackageReference package{value.at("package").get<std::string>(),
                             value.at("file").get<std::string>(),
                             lower(value.at("sha256").get<std::string>())};
    check_package(package);
    info_.fetched = true;
    place_model(folders_.fetched / info_.name / fs::path(package.file).filename());
    info_.package = std::move(package);
  }

  void check_package(const PackageReference& package) {
    const bool hexadecimal =
        package.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (package.sha256.size() != 64 || !hexadecimal) {
      report("/model_path/sha256",
             fmt::format("found \"{}\", accepted: 64 hexadecimal digits", package.sha256));
    }
    const std::size_t colon = package.package.find(':');
    const std::vector<std::string> registries = {"pypi", "npm", "maven", "debian"};
    const std::string registry = package.package.substr(0, colon);
    const bool known =
        std::find(registries.begin(), registries.end(), registry) != registries.end();
    if (colon == std::string::npos || !known || colon + 1 == package.package.size()) {
      report("/model_path/package",
             fmt::format("found \"{}\", accepted: \"registry:name==version\", the registry one of "
                         "pypi, npm, maven, debian{}",
                         package.package, did_you_mean(registry, registries)));
    }
  }

  void place_model(const fs::path& path) {
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error);
    info_.model_path = (error ? path : absolute).lexically_normal();
    info_.model_found = exists(info_.model_path);
  }

  static bool exists(const fs::path& path) {
    std::error_code error;
    return fs::exists(path, error);
  }

  void read_inputs() {
    const std::vector<std::string> names = name_list(json_.at("inputs"));
    const std::vector<std::string> types = name_list(json_.at("input_type"));
    if (json_.contains("outputs")) info_.outputs = name_list(json_.at("outputs"));
    check_distinct("inputs", names);
    check_distinct("outputs", info_.outputs);
    if (names.empty()) report("/inputs", "found no name, accepted: names separated by commas");
    if (types.size() != names.size()) {
      report("/input_type", fmt::format("found {} types for {} inputs ({}), accepted: one type per "
                                        "input, in the order of \"inputs\"",
                                        types.size(), names.size(), quoted_list(names)));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      read_input(names[i], i < types.size() ? types[i] : "");
    }
    for (const auto& member : json_.at("input_shape").items()) {
      check_input_name("input_shape", member.key(), names);
    }
  }

  void check_distinct(std::string_view key, const std::vector<std::string>& names) {
    for (auto name = names.begin(); name != names.end(); ++name) {
      if (std::find(names.begin(), name, *name) == name) continue;
      report(fmt::format("/{}", key),
             fmt::format("found \"{}\" twice, accepted: each name once", *name));
    }
  }

  void read_input(const std::string& name, const std::string& type) {
    TensorSpec spec;
    spec.name = name;
    if (!type.empty()) {
      auto dtype = parse_dtype(type);
      if (dtype.ok()) {
        spec.dtype = *dtype;
      } else {
        report("/input_type", dtype.status().message());
      }
    }
    const Json& shapes = json_.at("input_shape");
    const auto shape = shapes.find(name);
    if (shape == shapes.end()) {
      std::vector<std::string> given;
      for (const auto& member : shapes.items()) given.push_back(member.key());
      report("/input_shape", fmt::format("no shape for input \"{}\", found shapes for {}{}", name,
                                         quoted_list(given), did_you_mean(name, given)));
    } else {
      spec.shape = shape->get<Shape>();
      check_dimensions(name, spec.shape);
    }
    info_.inputs.push_back(std::move(spec));
  }

  void check_dimensions(const std::string& name, const Shape& shape) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] != 0) continue;
      report(fmt::format("{}/{}", member_pointer("input_shape", name), axis),
             "found 0, accepted: a whole number of at least 1, or -1 where the dimension is free");
    }
  }

  void check_input_name(std::string_view key, const std::string& name,
                        const std::vector<std::string>& names) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    report_key(
        member_pointer(key, name),
        fmt::format("not among the inputs ({}){}", quoted_list(names), did_you_mean(name, names)));
  }

  std::vector<std::string> input_names() const {
    std::vector<std::string> names;
    for (const TensorSpec& input : info_.inputs) names.push_back(input.name);
    return names;
  }

  void read_batch_axes() {
    const Json axes = json_.value("batch_axes", Json::object());
    for (const auto& member : axes.items()) {
      check_input_name("batch_axes", member.key(), input_names());
    }
    for (const TensorSpec& input : info_.inputs) {
      const auto given = axes.find(input.name);
      if (given == axes.end()) {
        const bool scalar = input.shape.empty();
        info_.batch_axes.push_back(scalar ? std::nullopt : std::optional<std::size_t>(0));
      } else if (given->is_null()) {
        info_.batch_axes.emplace_back(std::nullopt);
      } else {
        read_batch_axis(input, given->get<std::size_t>());
      }
    }
  }

  void read_batch_axis(const TensorSpec& input, std::size_t axis) {
    if (axis >= input.shape.size()) {
      report(member_pointer("batch_axes", input.name),
             fmt::format("found {}, but the shape is {}; accepted: an axis of it, or null", axis,
                         to_string(input.shape)));
    }
    info_.batch_axes.emplace_back(axis);
  }

  void read_input_ranges() {
    const Json ranges = json_.value("input_ranges", Json::object());
    for (const auto& member : ranges.items()) {
      check_input_name("input_ranges", member.key(), input_names());
      DeclaredRange range{member.key(), member.value()[0].get<double>(),
                          member.value()[1].get<double>()};
      if (range.low > range.high) {
        report(member_pointer("input_ranges", range.input),
               fmt::format("found [{}, {}], accepted: [lowest, highest]", range.low, range.high));
      }
      info_.input_ranges.push_back(std::move(range));
    }
  }

  // A layout that the shapes or the preprocessing contradict would be fed without any error.
  void check_layout() {
    if (info_.layout != "NCHW" && info_.layout != "NHWC") return;
    const std::string prepared =
        info_.preprocess->is_object() ? text_or_empty(*info_.preprocess, "layout") : std::string();
    if (!prepared.empty() && prepared != info_.layout) {
      report("/preprocess/layout",
             fmt::format("found \"{}\", but \"layout\" is \"{}\"; accepted: the same layout",
                         prepared, info_.layout));
    }
    for (const TensorSpec& input : info_.inputs) check_layout_of(input);
  }

  // Only what can be nothing but a picture in colour is held against the layout.
  void check_layout_of(const TensorSpec& input) {
    constexpr std::int64_t colours = 3;
    constexpr std::int64_t smallest_side = 8;
    if (input.shape.size() != 4) return;
    const bool first = info_.layout == "NCHW";
    const std::size_t said = first ? 1 : 3;
    const std::size_t other = first ? 3 : 1;
    const std::int64_t height = input.shape[first ? 1 : 2];
    const std::int64_t width = input.shape[first ? 2 : 3];
    const bool contradicts = input.shape[said] != colours && input.shape[other] == colours &&
                             height >= smallest_side && width >= smallest_side;
    if (!contradicts) return;
    report(member_pointer("input_shape", input.name),
           fmt::format("{} is laid out {}, but \"layout\" is \"{}\"", to_string(input.shape),
                       first ? "NHWC" : "NCHW", info_.layout));
  }

  void judge_form() {
    const auto has = [&](const char* key) { return json_.contains(key); };
    info_.published_old_form = std::none_of(kOwnKeys.begin(), kOwnKeys.end(), has) &&
                               std::all_of(kPublishedKeys.begin(), kPublishedKeys.end(), has) &&
                               json_.at("model_path").is_string();
    note_oddities(file_, info_);
  }

  const JsonFile& file_;
  const Json& json_;
  const ModelFolders& folders_;
  ModelInfo info_;
  std::vector<Problem> problems_;
};

}  // namespace

Result<ModelInfo> load_model_info(const fs::path& path, const ModelFolders& folders) {
  ASSIGN_OR_RETURN(const JsonFile file, JsonFile::read(path));
  ASSIGN_OR_RETURN(ModelInfo info, parse_model_info(file, folders));
  info.file = path;
  return info;
}

Result<ModelInfo> parse_model_info(const JsonFile& file, const ModelFolders& folders) {
  if (file.empty()) {
    return to_status({file.problem("", "the file is empty, accepted: an object")});
  }
  return Reader(file, folders).read();
}

}  // namespace assay::workload
