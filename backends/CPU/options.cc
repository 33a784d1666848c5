#include "options.h"

#include <array>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

namespace cpu {
namespace {

using assay::backend::Document;
using assay::backend::Error;
using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kGraphOptimizations = {"all", "extended", "basic",
                                                                 "none"};
constexpr std::array<std::string_view, 2> kExecutionModes = {"sequential", "parallel"};
constexpr int kMostThreads = 4096;
constexpr std::string_view kAuto = "auto";

[[noreturn]] void refuse(std::string_view name, const std::string& value,
                         const std::string& accepted) {
  throw Error(ASSAY_INVALID_ARGUMENT,
              "option " + std::string(name) + ": found \"" + value + "\", accepted: " + accepted);
}

std::optional<int> parse_threads(std::string_view name, const std::string& value) {
  if (value == kAuto) return std::nullopt;
  int threads = 0;
  const char* const end = value.data() + value.size();
  const auto [parsed, error] = std::from_chars(value.data(), end, threads);
  if (error != std::errc() || parsed != end || threads < 1 || threads > kMostThreads) {
    refuse(name, value, "auto, or a number from 1 to " + std::to_string(kMostThreads));
  }
  return threads;
}

std::string parse_choice(std::string_view name, const std::string& value,
                         std::span<const std::string_view> choices) {
  std::string accepted;
  for (const std::string_view choice : choices) {
    if (value == choice) return value;
    accepted += (accepted.empty() ? "" : ", ") + std::string(choice);
  }
  refuse(name, value, accepted);
}

// Reads the four options through `text`, which gives the value of a name or its fallback.
template <typename Text>
Options parse_options(const Text& text) {
  const auto threads = [&](const char* name) {
    return parse_threads(name, text(name, std::string(kAuto)));
  };
  Options options;
  options.intra_op_threads = threads("intra_op_threads");
  options.inter_op_threads = threads("inter_op_threads");
  options.graph_optimization =
      parse_choice("graph_optimization", text("graph_optimization", options.graph_optimization),
                   kGraphOptimizations);
  options.execution_mode = parse_choice(
      "execution_mode", text("execution_mode", options.execution_mode), kExecutionModes);
  return options;
}

std::string threads_text(const std::optional<int>& threads) {
  return threads ? std::to_string(*threads) : std::string(kAuto);
}

std::string options_path(const std::string& folder) { return folder + "/options.json"; }

Artifact parse_artifact(const Json& json, const std::string& folder) {
  Artifact artifact;
  artifact.folder = folder;
  artifact.format = json.at("format").get<std::string>();
  artifact.model = json.at("model").get<std::string>();
  for (const Json& output : json.at("outputs")) {
    artifact.outputs.push_back(
        {output.at("rank").get<std::size_t>(), output.at("shape_known").get<bool>()});
  }
  artifact.options = parse_options([&](const char* name, const std::string& /*fallback*/) {
    return json.at("options").at(name).get<std::string>();
  });
  return artifact;
}

}  // namespace

Options options_from_answers(const Document& configs) {
  return parse_options([&](const char* name, const std::string& fallback) {
    const std::string key = std::string("interact_info.") + name;
    if (!configs.has(key)) return fallback;
    try {
      return configs.text(key);
    } catch (const Error&) {  // a number of threads may come as a number
      return std::to_string(configs.integer(key));
    }
  });
}

void write_artifact(const Artifact& artifact) {
  Json outputs = Json::array();
  for (const OutputFact& output : artifact.outputs) {
    outputs.push_back({{"rank", output.rank}, {"shape_known", output.shape_known}});
  }
  const Json json = {{"format", artifact.format},
                     {"model", artifact.model},
                     {"options",
                      {{"intra_op_threads", threads_text(artifact.options.intra_op_threads)},
                       {"inter_op_threads", threads_text(artifact.options.inter_op_threads)},
                       {"graph_optimization", artifact.options.graph_optimization},
                       {"execution_mode", artifact.options.execution_mode}}},
                     {"outputs", std::move(outputs)}};
  const std::string path = options_path(artifact.folder);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) throw Error(ASSAY_RESOURCE_EXHAUSTED, "cannot write " + path);
}

Artifact read_artifact(const std::string& folder) {
  const std::string path = options_path(folder);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ASSAY_NOT_FOUND, "the artifact has no " + path);
  try {
    return parse_artifact(Json::parse(file), folder);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ASSAY_DATA_LOSS, path + " was not written by this backend: " + e.what());
  }
}

}  // namespace cpu
