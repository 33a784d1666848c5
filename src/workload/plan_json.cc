#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <nlohmann/json.hpp>

#include "workload/plan.h"

namespace assay::workload {
namespace {

constexpr std::array<std::string_view, 5> kOriginNames = {"command line", "workload", "model",
                                                          "default", "--quick"};

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const RunRequest& request) {
  return {{"set", request.set_options},
          {"answers_file", request.answers_file.native()},
          {"interactive", request.interactive},
          {"quick", request.quick},
          {"resume", request.resume},
          {"strict", request.strict},
          {"keep_raw", request.keep_raw},
          {"backend_path", request.backend_path.native()},
          {"python", request.python},
          {"requirements", request.requirements.native()},
          {"stubs", request.stubs},
          {"timeout_s", or_null(request.timeout_s)},
          {"worker_memory_limit_gb", or_null(request.worker_memory_limit_gb)},
          {"worker_cpu_limit_s", or_null(request.worker_cpu_limit_s)},
          {"stability", request.stability.empty() ? "quick" : request.stability},
          {"seed", request.seed}};
}

}  // namespace

std::string_view name_of(Origin origin) { return kOriginNames[static_cast<std::size_t>(origin)]; }

Json configs_json(const Plan& plan, const Json& interact_info) {
  return {{"workload", to_json(plan.workload)},
          {"model_info", to_json(plan.model)},
          {"interact_info", interact_info}};
}

Json to_json(const Plan& plan) {
  Json json = {{"task", plan.workload.task},
               {"hardware_type", plan.request.hardware_type},
               {"workload", to_json(plan.workload)},
               {"model_info", to_json(plan.model)},
               {"reference_model", plan.reference ? Json(plan.reference->name) : Json()},
               {"batch_sizes", plan.batch_sizes},
               {"batch_sizes_from", name_of(plan.batch_sizes_origin)},
               {"rounds", plan.rounds},
               {"min_accuracy_samples", plan.min_accuracy_samples},
               {"generated_data", plan.generated_data}};
  json["options"] = to_json(plan.request);
  json["notes"] = plan.notes;
  json["warnings"] = plan.warnings;
  return json;
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string command_line(const RunRequest& request, const std::string& subcommand) {
  std::string line;
  if (!request.backends_folder.empty()) {
    line = fmt::format("ASSAY_BACKENDS={} ", shell_word(request.backends_folder.native()));
  }
  line += "./assay " + subcommand;
  const auto option = [&](const char* name, const std::string& value) {
    line += fmt::format(" {} {}", name, shell_word(value));
  };
  const auto number = [&](const char* name, const auto& value) {
    if (value) line += fmt::format(" {} {}", name, *value);
  };
  const auto flag = [&](const char* name, bool given) {
    if (given) line += fmt::format(" {}", name);
  };
  if (!request.task.empty()) option("--task", request.task);
  if (!request.model.empty()) option("--model", request.model.native());
  for (const std::string& dimension : request.dimensions) option("--dim", dimension);
  option("--hardware_type", request.hardware_type);
  if (!request.backend_path.empty()) option("--backend_path", request.backend_path.native());
  if (!request.python.empty()) option("--python", request.python);
  if (!request.requirements.empty()) option("--requirements", request.requirements.native());
  for (const std::string& stub : request.stubs) option("--stub", stub);
  if (request.batch_sizes) {
    option("--batch_sizes", fmt::format("{}", fmt::join(*request.batch_sizes, ",")));
  }
  number("--clients", request.clients);
  number("--iterations", request.iterations);
  number("--data_percent", request.data_percent);
  for (const std::string& set : request.set_options) option("--set", set);
  if (!request.answers_file.empty()) option("--answers", request.answers_file.native());
  number("--timeout", request.timeout_s);
  number("--worker_memory_limit", request.worker_memory_limit_gb);
  number("--worker_cpu_limit", request.worker_cpu_limit_s);
  if (!request.stability.empty()) option("--stability", request.stability);
  if (request.seed != RunRequest{}.seed) option("--seed", std::to_string(request.seed));
  flag("--interactive", request.interactive);
  flag("--compile_only", request.compile_only);
  flag("--quick", request.quick);
  flag("--strict", request.strict);
  flag("--keep_raw", request.keep_raw);
  return line;
}

}  // namespace assay::workload
