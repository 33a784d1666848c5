#include "workload/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/suggest.h"
#include "workload/comma_list.h"
#include "workload/interact_profile.h"
#include "workload/output_folder.h"
#include "workload/schemas.h"

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

constexpr std::int64_t kUsualBatchSize = 8;  // beside 1, when nobody names any

// Metrics whose value is a share of 1.
constexpr std::array<std::string_view, 4> kShareMetrics = {"top1", "top5", "auc",
                                                           "binary_accuracy"};

constexpr std::string_view kCount = "a whole number of at least 1";

Status merged(const std::vector<Status>& errors) {
  std::string message;
  StatusCode code = errors.front().code();
  for (const Status& error : errors) {
    if (error.code() != code) code = StatusCode::kInvalidArgument;
    message += (message.empty() ? "" : "\n") + error.message();
  }
  return {code, std::move(message)};
}

Status not_accepted(std::string_view option, const std::string& found, std::string_view accepted) {
  return invalid_argument(fmt::format("{}: found {}, accepted: {}", option, found, accepted));
}

// Names of the JSON files in `folder`; none when it cannot be read.
std::vector<std::string> names_in(const fs::path& folder) {
  auto names = list_tasks(folder);
  return names.ok() ? std::move(names).value() : std::vector<std::string>{};
}

std::string nearest_or_all(const std::string& word, const std::vector<std::string>& names,
                           std::string_view what) {
  const std::string hint = did_you_mean(word, names);
  if (!hint.empty()) return hint;
  return names.empty() ? fmt::format("; there are no {}", what)
                       : fmt::format("; {} are: {}", what, fmt::join(names, ", "));
}

class Planner {
 public:
  Planner(const RunRequest& request, const PlanContext& context)
      : request_(request), context_(context) {
    plan_.request = request;
  }

  Result<Plan> run() {
    check_numbers();
    choose_stability();
    check_answers();
    check_hardware();
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
    check_output_is_free();
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

  void check_numbers() {
    const auto count = [&](const char* option, const std::optional<std::int64_t>& value) {
      if (value && *value < 1) refuse(not_accepted(option, std::to_string(*value), kCount));
    };
    count("--clients", request_.clients);
    count("--iterations", request_.iterations);
    if (request_.data_percent && !(*request_.data_percent >= 1 && *request_.data_percent <= 100)) {
      refuse(not_accepted("--data_percent", fmt::format("{}", *request_.data_percent),
                          "a number from 1 to 100"));
    }
    if (request_.timeout_s && !(*request_.timeout_s > 0 && std::isfinite(*request_.timeout_s))) {
      refuse(not_accepted("--timeout", fmt::format("{}", *request_.timeout_s),
                          "seconds, a number above 0"));
    }
    if (request_.batch_sizes && request_.batch_sizes->empty()) {
      refuse(not_accepted("--batch_sizes", "none", "at least one, such as --batch_sizes 1,8"));
    }
  }

  // Their form only: the questions are known when the backend has been asked.
  void check_answers() {
    for (const std::string& option : request_.set_options) {
      refuse(parse_set_option(option).status().with_context("--set"));
    }
    if (request_.answers_file.empty()) return;
    const auto file = JsonFile::read(request_.answers_file);
    refuse(file.status().with_context("--answers"));
    if (file.ok() && !file->empty()) refuse(to_status(check_schema(answers_schema_json, *file)));
  }

  void check_hardware() {
    const std::vector<std::string>& known = context_.hardware_types;
    const std::string& asked = request_.hardware_type;
    if (known.empty() || std::find(known.begin(), known.end(), asked) != known.end()) return;
    refuse(not_found(fmt::format("unknown hardware type \"{}\"{}", asked,
                                 nearest_or_all(asked, known, "hardware types"))));
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
          fmt::format("the model info of \"{}\" is not held against the model: {}", info.name,
                      model.status().message()));
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
    if (!request_.data_percent) {
      workload.data_percent = std::min(workload.data_percent, kQuickDataPercent);
      plan_.min_accuracy_samples = kQuickMinSamples;
    }
    plan_.notes.push_back(fmt::format(
        "--quick: {} round of at least {} batches per client and at most {} s a row, accuracy on "
        "{} % of the data set but at least {} samples; a full run decides",
        plan_.rounds, workload.iterations, workload.max_duration_s, workload.data_percent,
        plan_.min_accuracy_samples));
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
      take_usual_batch_sizes(fixed);
    }
    plan_.workload.batch_sizes = plan_.batch_sizes;
  }

  void take_usual_batch_sizes(std::optional<std::int64_t> fixed) {
    plan_.batch_sizes_origin = fixed ? Origin::kModel : Origin::kDefault;
    plan_.batch_sizes = {fixed.value_or(1)};
    if (fixed || !has_batch_axis()) return;
    const std::int64_t more =
        std::min(plan_.model.max_batch_size.value_or(kUsualBatchSize), kUsualBatchSize);
    if (more > 1) plan_.batch_sizes.push_back(more);
  }

  bool has_batch_axis() const {
    const auto& axes = plan_.model.batch_axes;
    return std::any_of(axes.begin(), axes.end(), [](const auto& axis) { return axis.has_value(); });
  }

  void take_batch_sizes(const std::vector<std::int64_t>& asked, std::optional<std::int64_t> fixed) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const std::string why_not = refused_batch(asked[i], fixed);
      std::vector<std::int64_t>& sizes = plan_.batch_sizes;
      if (!why_not.empty()) {
        refuse_batch(i, fmt::format("found {}, {}", asked[i], why_not));
      } else if (std::find(sizes.begin(), sizes.end(), asked[i]) == sizes.end()) {
        sizes.push_back(asked[i]);
      }
    }
    drop_middle_when_quick();
  }

  // "" when the model can be given batches of `size`.
  std::string refused_batch(std::int64_t size, std::optional<std::int64_t> fixed) const {
    if (size < 1) return fmt::format("accepted: {}", kCount);
    const auto& most = plan_.model.max_batch_size;
    if (most && size > *most) return fmt::format("accepted: at most {}, max_batch_size", *most);
    if (fixed && size != *fixed) {
      return fmt::format("but the model fixes its batch; accepted: {}", *fixed);
    }
    if (size > 1 && !has_batch_axis()) return "but no input of the model is batched; accepted: 1";
    for (std::size_t i = 0; i < plan_.model.inputs.size(); ++i) {
      TensorSpec spec = plan_.model.inputs[i];
      std::replace(spec.shape.begin(), spec.shape.end(), std::int64_t{-1}, std::int64_t{1});
      const auto& axis = plan_.model.batch_axes[i];
      if (axis && __builtin_mul_overflow(spec.shape[*axis], size, &spec.shape[*axis])) {
        return "accepted: batches whose tensors can be addressed";
      }
      if (const auto bytes = byte_size(spec); !bytes.ok()) return bytes.status().message();
    }
    return "";
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
    const bool share =
        std::find(kShareMetrics.begin(), kShareMetrics.end(), metric) != kShareMetrics.end();
    if (!share || (*criteria.min >= 0 && *criteria.min <= 1)) return;
    refuse(invalid_argument(to_string(workload_problem(
        "/criteria/accuracy/min",
        fmt::format("found {}, accepted: a number from 0 to 1, since {} is a share", *criteria.min,
                    metric)))));
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

  void check_output_is_free() {
    std::error_code error;
    if (request_.output.empty()) {
      refuse(invalid_argument("--output: found nothing, accepted: a folder"));
    } else if (fs::exists(request_.output, error) && !fs::is_directory(request_.output, error)) {
      refuse(invalid_argument(
          fmt::format("--output: {} is a file, accepted: a folder", quoted(request_.output))));
    } else if (!request_.resume && fs::exists(request_.output / "result.json", error)) {
      refuse(already_exists(fmt::format(
          "--output: {} already holds a result; accepted: another folder, or --resume to take that "
          "run up",
          quoted(request_.output))));
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
