#pragma once

// A request, as the command line gives it, becomes a validated Plan. Whatever can be refused before
// any work is done is refused here.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "workload/model_info.h"
#include "workload/signature.h"
#include "workload/stability_budget.h"
#include "workload/workload.h"

namespace assay::workload {

struct RunRequest {
  std::string task;                     // --task; or
  std::filesystem::path model;          // --model FILE
  std::vector<std::string> dimensions;  // --dim name=value, for free dimensions of --model

  std::string hardware_type = "CPU";
  std::filesystem::path output;  // DIR for result.json and report.html

  // Override the workload's.
  std::optional<std::vector<std::int64_t>> batch_sizes;
  std::optional<std::int64_t> clients;
  std::optional<std::int64_t> iterations;
  std::optional<double> data_percent;

  std::vector<std::string> set_options;  // "name=value"
  std::filesystem::path answers_file;
  bool interactive = false;
  bool compile_only = false;
  bool quick = false;
  bool resume = false;
  bool strict = false;
  bool keep_raw = false;
  std::optional<double> timeout_s;               // of each phase
  std::optional<double> worker_memory_limit_gb;  // of a worker and its descendants
  std::optional<double> worker_cpu_limit_s;      // of them in one phase
  std::uint64_t seed = 1;
  std::string stability;  // budget of the stability matrix; "": quick

  // Of the backend under test.
  std::filesystem::path backend_path;  // it, or the folder that holds it; searched first
  std::string python;                  // interpreter of a Python backend; "": python3
  std::filesystem::path requirements;  // what that interpreter must have; empty: the backend's own
  std::vector<std::string> stubs;      // modules that a Python backend imports and does not get

  // The folder of ASSAY_BACKENDS that holds the backend, when it is not found without; the command
  // that repeats the run names it.
  std::filesystem::path backends_folder;

  std::filesystem::path workloads_folder;       // holds <task>.json
  std::filesystem::path model_zoo_folder;       // holds <model>.json
  std::filesystem::path fetched_models_folder;  // <cache>/models
};

// What the plan needs from other rooms, so that it stays free of them.
struct PlanContext {
  // What the model file says about itself; kUnimplemented for a format that nobody here can read,
  // whose models are then not held against anything. As assay::read_model.
  std::function<Result<ModelFile>(const std::filesystem::path&, std::string_view format)>
      read_model;
  // True when `assay fetch TASK` gets the model or the data of this task. May be empty.
  std::function<bool(const std::string& task)> is_fetched;
  // Ok when the data set can be opened; else its error, which becomes the plan's. May be empty.
  std::function<Status(const ModelInfo&)> check_dataset;
  // What --hardware_type may name; not checked when empty.
  std::vector<std::string> hardware_types;
  // Free space that the output folder must have.
  std::uint64_t needed_output_bytes = std::uint64_t{64} << 20;
};

enum class Origin { kCommandLine, kWorkload, kModel, kDefault, kQuick };
std::string_view name_of(Origin origin);  // "command line", "workload", ...

struct Plan {
  RunRequest request;
  Workload workload;  // effective: overrides and --quick applied
  ModelInfo model;
  std::optional<ModelFile> model_file;    // when it can be read
  std::optional<ModelInfo> reference;     // the model that `reference_model` names
  std::vector<std::int64_t> batch_sizes;  // never empty, distinct, in the order asked
  Origin batch_sizes_origin = Origin::kDefault;
  bool generated_data = false;  // no data set: accuracy cannot be measured
  StabilityBudget stability;
  int rounds = 3;  // times that each row is measured, in fresh processes where possible
  // Accuracy uses at least this many samples (all, when there are fewer), whatever data_percent
  // says.
  std::int64_t min_accuracy_samples = 1;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // what was decided for the user, --quick among it
};

// Checks everything and writes nothing but (to see that it can) the output folder. kInvalidArgument
// and kOutOfRange for wrong input, kNotFound for missing files, kAlreadyExists for a folder that
// holds a result; the message lists every problem found.
Result<Plan> make_plan(const RunRequest& request, const PlanContext& context);

// {workload, model_info, interact_info} as backends get it.
Json configs_json(const Plan& plan, const Json& interact_info);

// The `plan` key of result.json.
Json to_json(const Plan& plan);

// The command that repeats this run, quoted for a shell: "./assay run --task ...". `subcommand` may
// have options of its own behind it.
std::string command_line(const RunRequest& request, const std::string& subcommand = "run");

// `word` as a shell reads it back unchanged.
std::string shell_word(const std::string& word);

}  // namespace assay::workload
