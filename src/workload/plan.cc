#include "workload/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "workload/batch_sizes.h"
#include "workload/output_folder.h"
#include "workload/request_check.h"

namespace assay::workload {
namespace fs = std::filesystem;
namespace {

// What --quick makes of a workload, unless the command line says otherwise.
constexpr std::int64_t kQuickIterations = 20;
constexpr double kQuickDurationS = 5;
constexpr double kQuickDataPercent = 10;
constexpr std::int64_t kQuickMinSamples = 200;  // for accuracy, so that it still says something
constexpr int kQuickRounds = 1;
constexpr std::size_t kQuickBatchSizes = 2;

// Metrics whose value is a share, and what the whole is.
struct ShareMetric {
  std::string_view name;
  double whole;
};
constexpr std::array<ShareMetric, 6> kShareMetrics = {{{"top1", 1},
                                                       {"top5", 1},
                                                       {"auc", 1},
                                                       {"binary_accuracy", 1},
                                                       {"exact_match", 100},
                                                       {"squad_f1", 100}}};

Status merged(const std::vector<Status>& errors) {
  std::string message;
  StatusCode code = errors.front().code();
  for (const Status& error : errors) {
    if (error.code() != code) code = StatusCode::kInvalidArgument;
    message += (message.empty() ? "" : "\n") + error.message();
  }
  return {code, std::move(message)};
}

// Names of the JSON files in `folder`; none when it cannot be read.
std::vector<std::string> names_in(const fs::path& folder) {
  auto names = list_tasks(folder);
  return names.ok() ? std::move(names).value() : std::vector<std::string>{};
}

class Planner {
 public:
  Planner(const RunRequest& request, const PlanContext& context)
      : request_(request), context_(context) {
    plan_.request = request;
  }

  Result<Plan> run() {
    errors_ = check_request(request_, context_.hardware_types);
    choose_stability();
    if (request_.task.empty() == request_.model.empty()) {
      refuse(invalid_argument("accepted: either --task NAME or --model FILE, found " +
                              std::string(request_.task.empty() ? "neither" : "both")));
    } else if (request_.task.empty() ? load_bare_model() : load_task()) {
      apply_request();
      apply_quick();
      choose_data();
      choose_batch_sizes();
      check_something_is_measured();
      check_accuracy_criterion();
      load_reference();
      check_dataset();
      warn_of_scenarios();
    }
    refuse(check_output_is_free(request_));
    if (!errors_.empty()) return merged(errors_);
    RETURN_IF_ERROR(check_output_folder(request_.output, context_.needed_output_bytes));
    plan_.warnings.insert(plan_.warnings.end(), plan_.model.warnings.begin(),
                          plan_.model.warnings.end());
    return std::move(plan_);
  }

 private:
  void refuse(Status status) {
    if (!status.ok()) errors_.push_back(std::move(status));
  }

  void choose_stability() {
    const std::string& asked = request_.stability;
    Result<StabilityBudget> budget = parse_stability_budget(asked.empty() ? "quick" : asked);
    if (budget.ok()) {
      plan_.stability = *std::move(budget);
    } else {
      refuse(budget.status());
    }
  }

  bool load_task() {
    const std::vector<std::string> tasks = names_in(request_.workloads_folder);
    if (std::find(tasks.begin(), tasks.end(), request_.task) == tasks.end()) {
      refuse(not_found(fmt::format("unknown task \"{}\"{}", request_.task,
                                   nearest_or_all(request_.task, tasks, "tasks"))));
      return false;
    }
    const fs::path path = request_.workloads_folder / (request_.task + ".json");
    auto file = JsonFile::read(path);
    if (file.ok()) {
      auto workload = parse_workload(*file);
      if (workload.ok()) {
        workload_file_ = std::move(file).value();
        plan_.workload = std::move(workload).value();
        plan_.workload.task = request_.task;
        plan_.workload.file = path;
        return load_model();
      }
      refuse(workload.status());
      return false;
    }
    refuse(file.status());
    return false;
  }

  Problem workload_problem(std::string_view pointer, std::string message) const {
    return workload_file_->problem(pointer, std::move(message));
  }

  bool load_model() {
    const std::string& name = plan_.workload.model;
    const std::vector<std::string> models = names_in(request_.model_zoo_folder);
    if (std::find(models.begin(), models.end(), name) == models.end()) {
      const Problem problem = workload_problem(
          "/model",
          fmt::format("unknown model \"{}\"{}", name, nearest_or_all(name, models, "models")));
      refuse(not_found(to_string(problem)));
      return false;
    }
    auto info = load_info(name);
    if (!info.ok()) {
      refuse(info.status());
      return false;
    }
    plan_.model = std::move(info).value();
    read_and_check(plan_.model, plan_.model_file);
    return true;
  }

  Result<ModelInfo> load_info(const std::string& name) const {
    return load_model_info(request_.model_zoo_folder / (name + ".json"),
                           {request_.model_zoo_folder, request_.fetched_models_folder});
  }

  // Holds `info` against its model file, when it is there and can be read.
  void read_and_check(ModelInfo& info, std::optional<ModelFile>& model_file) {
    if (!info.model_found) {
      refuse(missing_model(info));
      return;
    }
    if (!context_.read_model) return;
    auto model = context_.read_model(info.model_path, info.model_format);
    if (model.ok()) {
      refuse(check_against_signature(info, *model));
      model_file = std::move(model).value();
    } else if (model.status().code() == StatusCode::kUnimplemented) {
      plan_.notes.push_back(
          fmt::format("inputs and outputs are those of the model info of \"{}\", which is held "
                      "against ONNX models only; the model is of format \"{}\"",
                      info.name, info.model_format));
    } else {
      refuse(model.status());
    }
  }

  Status missing_model(const ModelInfo& info) const {
    const bool fetched =
        info.fetched || (context_.is_fetched && context_.is_fetched(request_.task));
    if (fetched) {
      return not_found(fmt::format("model file {} is missing, get it with: ./assay fetch {}",
                                   quoted(info.model_path), request_.task));
    }
    return not_found(to_string(
        info.source->problem("/model_path", fmt::format("no file {}", quoted(info.model_path)))));
  }

  bool load_bare_model() {
    std::vector<DimensionChoice> choices;
    for (const std::string& option : request_.dimensions) {
      auto choice = parse_dimension_choice(option);
      refuse(choice.status());
      if (choice.ok()) choices.push_back(std::move(choice).value());
    }
    std::error_code error;
    if (!fs::exists(request_.model, error)) {
      refuse(not_found(fmt::format("--model: no file {}", quoted(request_.model))));
      return false;
    }
    if (!context_.read_model) {
      refuse(unimplemented("--model: no reader for model files here"));
      return false;
    }
    auto model = context_.read_model(fs::absolute(request_.model, error), "");
    if (!model.ok()) {
      refuse(model.status());
      return false;
    }
    auto info = model_info_from_signature(*model, choices);
    if (!info.ok()) {
      refuse(info.status());
      return false;
    }
    plan_.model = std::move(info).value();
    plan_.model_file = std::move(model).value();
    plan_.workload.model = plan_.model.name;
    plan_.workload.test_accuracy = false;
    return true;
  }

  void apply_request() {
    Workload& workload = plan_.workload;
    workload.clients = request_.clients.value_or(workload.clients);
    workload.iterations = request_.iterations.value_or(workload.iterations);
    workload.data_percent = request_.data_percent.value_or(workload.data_percent);
    workload.compile_only = workload.compile_only || request_.compile_only;
  }

  // Rows that no option names become shorter, and fewer.
  void apply_quick() {
    if (!request_.quick) return;
    Workload& workload = plan_.workload;
    plan_.rounds = kQuickRounds;
    if (!request_.iterations) {
      workload.iterations = std::min(workload.iterations, kQuickIterations);
    }
    workload.max_duration_s = std::min(workload.max_duration_s, kQuickDurationS);
    // An accuracy of a few samples says nothing; outputs are compared value by value.
    const bool counts_answers = workload.test_accuracy && plan_.model.dataset_name;
    if (!request_.data_percent) {
      workload.data_percent = std::min(workload.data_percent, kQuickDataPercent);
      if (counts_answers) plan_.min_accuracy_samples = kQuickMinSamples;
    }
    const std::string samples =
        counts_answers ? fmt::format("accuracy on {} % of the data set but at least {} samples",
                                     workload.data_percent, plan_.min_accuracy_samples)
                       : fmt::format("{} % of the inputs", workload.data_percent);
    plan_.notes.push_back(fmt::format(
        "--quick: {} round of at least {} batches per client and at most {} s a row, {}; a full "
        "run decides",
        plan_.rounds, workload.iterations, workload.max_duration_s, samples));
  }

  void choose_data() {
    Workload& workload = plan_.workload;
    if (plan_.model.dataset_name) return;
    plan_.generated_data = true;
    workload.fake_data = true;
    if (!workload.test_accuracy) return;
    workload.test_accuracy = false;
    plan_.notes.push_back(fmt::format(
        "accuracy is not measured: the model info of \"{}\" names no data set", plan_.model.name));
  }

  void choose_batch_sizes() {
    const std::optional<std::int64_t> fixed =
        plan_.model_file ? fixed_batch(plan_.model, plan_.model_file->signature) : std::nullopt;
    if (request_.batch_sizes) {
      plan_.batch_sizes_origin = Origin::kCommandLine;
      take_batch_sizes(*request_.batch_sizes, fixed);
    } else if (plan_.workload.batch_sizes) {
      plan_.batch_sizes_origin = Origin::kWorkload;
      take_batch_sizes(*plan_.workload.batch_sizes, fixed);
    } else {
      plan_.batch_sizes_origin = fixed ? Origin::kModel : Origin::kDefault;
      plan_.batch_sizes = usual_batch_sizes(plan_.model, fixed);
    }
    plan_.workload.batch_sizes = plan_.batch_sizes;
  }

  void take_batch_sizes(const std::vector<std::int64_t>& asked, std::optional<std::int64_t> fixed) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const std::string why_not = why_not_batch(plan_.model, fixed, asked[i]);
      std::vector<std::int64_t>& sizes = plan_.batch_sizes;
      if (!why_not.empty()) {
        refuse_batch(i, fmt::format("found {}, {}", asked[i], why_not));
      } else if (std::find(sizes.begin(), sizes.end(), asked[i]) == sizes.end()) {
        sizes.push_back(asked[i]);
      }
    }
    drop_middle_when_quick();
  }

  void refuse_batch(std::size_t index, std::string message) {
    if (plan_.batch_sizes_origin == Origin::kCommandLine) {
      refuse(invalid_argument("--batch_sizes: " + message));
      return;
    }
    const bool usual_spelling = workload_file_->value().contains("batch_sizes");
    const char* key = usual_spelling ? "batch_sizes" : "batchsizes";
    refuse(invalid_argument(
        to_string(workload_problem(fmt::format("/{}/{}", key, index), std::move(message)))));
  }

  void drop_middle_when_quick() {
    std::vector<std::int64_t>& sizes = plan_.batch_sizes;
    if (!request_.quick || request_.batch_sizes || sizes.size() <= kQuickBatchSizes) return;
    plan_.notes.push_back(fmt::format("--quick: batch sizes {} and {} of {}", sizes.front(),
                                      sizes.back(), fmt::join(sizes, ", ")));
    sizes = {sizes.front(), sizes.back()};
    plan_.batch_sizes_origin = Origin::kQuick;
  }

  void check_something_is_measured() {
    const Workload& workload = plan_.workload;
    if (workload.test_perf || workload.test_accuracy || workload.test_numeric ||
        workload.test_stability || workload.compile_only) {
      return;
    }
    refuse(invalid_argument(to_string(workload_problem(
        "", "measures nothing: only test_accuracy is true, and the model has no data set"))));
  }

  void check_accuracy_criterion() {
    const AccuracyCriteria& criteria = plan_.workload.criteria.accuracy;
    if (!criteria.min && !criteria.min_relative) return;
    if (!plan_.workload.test_accuracy) {
      refuse(invalid_argument(to_string(workload_problem(
          "/criteria/accuracy", "cannot be judged, since the model has no data set"))));
      return;
    }
    if (!plan_.model.metric->is_object() || !criteria.min) return;
    const std::string metric = plan_.model.metric->value("name", "");
    const auto* const share = std::ranges::find(kShareMetrics, metric, &ShareMetric::name);
    if (share == kShareMetrics.end()) return;
    if (*criteria.min >= 0 && *criteria.min <= share->whole) return;
    refuse(invalid_argument(to_string(workload_problem(
        "/criteria/accuracy/min", fmt::format("found {}, accepted: a number from 0 to {}, since {} "
                                              "is a share",
                                              *criteria.min, share->whole, metric)))));
  }

  void load_reference() {
    if (!plan_.model.reference_model) return;
    const std::string& name = *plan_.model.reference_model;
    const auto refuse_name = [&](const std::string& message) {
      refuse(invalid_argument(to_string(plan_.model.source->problem("/reference_model", message))));
    };
    const std::vector<std::string> models = names_in(request_.model_zoo_folder);
    if (std::find(models.begin(), models.end(), name) == models.end()) {
      refuse_name(
          fmt::format("unknown model \"{}\"{}", name, nearest_or_all(name, models, "models")));
      return;
    }
    auto info = load_info(name);
    if (!info.ok()) {
      refuse(info.status());
      return;
    }
    std::optional<ModelFile> model_file;
    read_and_check(*info, model_file);
    if (const std::string other = other_inputs(name, *info); !other.empty()) refuse_name(other);
    plan_.reference = std::move(info).value();
  }

  // The same samples are fed to both, so what they take must be the same but for the dtype.
  std::string other_inputs(const std::string& name, const ModelInfo& reference) const {
    const auto text = [](const ModelInfo& info) {
      std::string all;
      for (const TensorSpec& input : info.inputs) {
        all += fmt::format("{}\"{}\": {}", all.empty() ? "" : ", ", input.name,
                           to_string(input.shape));
      }
      return all;
    };
    if (text(plan_.model) == text(reference)) return "";
    return fmt::format("\"{}\" takes {}, this model {}; accepted: a model with the same inputs",
                       name, text(reference), text(plan_.model));
  }

  void check_dataset() {
    if (!context_.check_dataset || plan_.generated_data || !errors_.empty()) return;
    refuse(context_.check_dataset(plan_.model));
  }

  void warn_of_scenarios() {
    for (const Scenario& scenario : plan_.workload.scenarios) {
      plan_.warnings.push_back(fmt::format(
          "scenario {} is not run: this version measures the closed loop only", scenario.name));
    }
  }

  const RunRequest& request_;
  const PlanContext& context_;
  Plan plan_;
  std::optional<JsonFile> workload_file_;  // of a task
  std::vector<Status> errors_;
};

}  // namespace

Result<Plan> make_plan(const RunRequest& request, const PlanContext& context) {
  return Planner(request, context).run();
}

}  // namespace assay::workload
