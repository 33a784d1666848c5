#include "controller/bisect.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "check/numeric.h"
#include "controller/bisect_cuts.h"
#include "controller/bisect_inputs.h"
#include "controller/bisect_prepare.h"
#include "controller/bisect_record.h"
#include "controller/build_info.h"
#include "controller/reference.h"
#include "controller/run_folders.h"
#include "controller/utf8.h"
#include "model/onnx_cut.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

// What the finding is; the words of bisect.json.
enum class Kind { kWithin, kOperator, kRange, kTogether, kAccumulated, kUnsteady, kNotCompiled };
constexpr std::array<const char*, 7> kKindNames = {
    "within", "operator", "range", "together", "accumulated", "unsteady", "not_compiled"};

Json operator_json(const OperatorInfo& info) {
  return {{"index", info.index},
          {"name", info.name},
          {"op_type", info.op_type},
          {"inputs", info.inputs},
          {"outputs", info.outputs}};
}

class Bisection {
 public:
  Bisection(const BisectRequest& request, const RunEnvironment& environment,
            BisectPrepared& prepared)
      : request_(&request), environment_(&environment), prepared_(&prepared) {}

  // Searches; what was found is in result() and finding().
  Status run() {
    RETURN_IF_ERROR(list_places());
    RETURN_IF_ERROR(set_up_cuts());
    if (chosen_->refused) {
      kind_ = Kind::kNotCompiled;
      return ok_status();
    }
    const RangeOracle prefixes = [this](std::int64_t first, std::int64_t last) {
      return look(first, last, cuts_->inputs());
    };
    Result<std::optional<FirstDeviation>> found = find_first_deviation(places_, prefixes);
    if (!found.ok() && found.status().code() == StatusCode::kFailedPrecondition) {
      kind_ = Kind::kNotCompiled;
      return ok_status();
    }
    RETURN_IF_ERROR(found.status());
    if (!*found) return ok_status();
    deviation_ = **found;
    return confirm();
  }

  Kind kind() const { return kind_; }
  const CutSeen* finding() const { return finding_ ? &*finding_ : nullptr; }
  Json result() const;

 private:
  Status list_places();
  Status set_up_cuts();
  BisectSetup cut_setup(const BisectBackend& reference, JsonValue optimized) const;
  Status confirm();
  Result<Kind> kind_of_range(std::size_t start);
  Result<CutSeen> see(std::int64_t first, std::int64_t last, const TensorSet& inputs);
  Result<CutOutcome> look(std::int64_t first, std::int64_t last, const TensorSet& inputs);
  Result<CutOutcome> look_on_right_inputs(std::int64_t first, std::int64_t last);
  // The place before operator `first`; -1 when there is none.
  std::int64_t before(std::int64_t first) const;

  Json finding_json() const;
  Json model_json() const;
  Json whole_model_json() const;
  Json uncertainty_json() const;

  const BisectRequest* request_;
  const RunEnvironment* environment_;
  BisectPrepared* prepared_;
  std::vector<OperatorInfo> operators_;
  CutPlaces places_;
  std::optional<ChosenInput> chosen_;
  std::optional<BisectCuts> cuts_;
  Kind kind_ = Kind::kWithin;
  std::optional<FirstDeviation> deviation_;
  std::optional<CutSeen> finding_;
  JsonValue looked_ = JsonValue(Json::array());
};

Status Bisection::list_places() {
  ASSIGN_OR_RETURN(operators_, list_operators(prepared_->setup.plan.model.model_path));
  for (const OperatorInfo& info : operators_) {
    if (info.used && !info.constant) places_.push_back(info.index);
  }
  if (!places_.empty()) return ok_status();
  return invalid_argument("the model has no operator between its inputs and its outputs");
}

Status Bisection::set_up_cuts() {
  const Setup& setup = prepared_->setup;
  BisectBackend reference = prepared_->tested;
  ASSIGN_OR_RETURN(reference.manifest,
                   host::find_backend(kReferenceBackend, environment_->installation.backends));
  ASSIGN_OR_RETURN(reference.interact_info,
                   reference_answers(reference.manifest, {"graph_optimization=none"}));
  ASSIGN_OR_RETURN(JsonValue optimized,
                   reference_answers(reference.manifest, {"graph_optimization=all"}));
  environment_->observer->phase_started("whole model");
  ASSIGN_OR_RETURN(chosen_, choose_input(*request_, setup, prepared_->tested, reference,
                                         prepared_->work.path(), *environment_->observer));
  PhaseRecord record;
  record.name = "whole model";
  record.end = chosen_->end;
  environment_->observer->phase_finished(record);
  ASSIGN_OR_RETURN(TensorSet inputs, copy_of(chosen_->tensors));
  cuts_.emplace(cut_setup(reference, std::move(optimized)), std::move(inputs));
  return ok_status();
}

BisectSetup Bisection::cut_setup(const BisectBackend& reference, JsonValue optimized) const {
  const Setup& setup = prepared_->setup;
  const std::string& declared = chosen_->declared_precision;
  BisectSetup made;
  made.plan = &setup.plan;
  made.model = setup.plan.model.model_path;
  made.tested = prepared_->tested;
  made.reference = reference;
  made.reference_optimized = std::move(optimized);
  made.precision = bisect_precision(declared.empty() ? setup.plan.model.model_precision : declared);
  made.seed = setup.plan.request.seed;
  made.calibration = setup.data->calibration();
  made.calibration_disjoint = made.calibration != nullptr;
  if (made.calibration == nullptr) made.calibration = setup.data.get();
  made.folder = prepared_->work.path();
  made.observer = environment_->observer;
  return made;
}

Result<CutSeen> Bisection::see(std::int64_t first, std::int64_t last, const TensorSet& inputs) {
  PhaseRecord record;
  record.name = fmt::format("operators {}..{}", first, last);
  environment_->observer->phase_started(record.name);
  ASSIGN_OR_RETURN(CutSeen seen, cuts_->look(first, last, inputs));
  record.end = seen.end;
  if (record.end.ok()) record.end.reason = name_of(seen.outcome);
  environment_->observer->phase_finished(record);
  looked_.mutable_value().push_back(to_json(seen));
  return seen;
}

Result<CutOutcome> Bisection::look(std::int64_t first, std::int64_t last, const TensorSet& inputs) {
  ASSIGN_OR_RETURN(const CutSeen seen, see(first, last, inputs));
  return seen.outcome;
}

std::int64_t Bisection::before(std::int64_t first) const {
  const auto next = std::ranges::lower_bound(places_, first);
  return next == places_.begin() ? -1 : *std::prev(next);
}

// Where the reference cannot be cut, nothing is known of the range.
Result<CutOutcome> Bisection::look_on_right_inputs(std::int64_t first, std::int64_t last) {
  const Result<TensorSet> right = cuts_->right_inputs(before(first));
  if (right.ok()) return look(first, last, *right);
  if (right.status().code() == StatusCode::kFailedPrecondition) return CutOutcome::kUnusable;
  return right.status();
}

// The shortest range that ends at the operator found and is wrong on right inputs.
Status Bisection::confirm() {
  const RangeOracle ranges = [this](std::int64_t first, std::int64_t last) {
    return look_on_right_inputs(first, last);
  };
  ASSIGN_OR_RETURN(const std::size_t start, find_range_start(places_, deviation_->place, ranges));
  const std::int64_t first = start == 0 ? 0 : places_[start];
  ASSIGN_OR_RETURN(const TensorSet right, cuts_->right_inputs(before(places_[start])));
  ASSIGN_OR_RETURN(CutSeen seen, see(first, places_[deviation_->place], right));
  const fs::path kept = cuts_->setup().folder / kMinimalModel;
  std::error_code error;
  fs::rename(seen.model, kept, error);
  if (error) return errno_status(error.value(), "cannot keep the minimal model");
  seen.model = kept;
  finding_ = std::move(seen);
  ASSIGN_OR_RETURN(kind_, kind_of_range(start));
  return ok_status();
}

// A range that is wrong although it is right without its first operator: either that operator's
// error, small as it is alone, grows in the others, or the backend errs only when it compiles them
// together. The range compiled in two parts, one fed with what the other gave, tells.
Result<Kind> Bisection::kind_of_range(std::size_t start) {
  if (finding_->outcome != CutOutcome::kDeviates) return Kind::kUnsteady;
  if (start == deviation_->place) return Kind::kOperator;
  const std::int64_t first = places_[start];
  ASSIGN_OR_RETURN(TensorSet fed, cuts_->right_inputs(before(first)));
  ASSIGN_OR_RETURN(CutSeen head, see(start == 0 ? 0 : first, first, fed));
  for (auto& [name, tensor] : head.got) fed.insert_or_assign(name, std::move(tensor));
  if (head.tensors.empty()) return Kind::kRange;
  ASSIGN_OR_RETURN(const CutSeen tail, see(places_[start + 1], places_[deviation_->place], fed));
  if (tail.tensors.empty()) return Kind::kRange;
  for (const TensorDifference& allowed : finding_->tensors) {
    const auto got = tail.got.find(allowed.tensor);
    if (got == tail.got.end()) continue;
    TensorDifference apart = compare_tensor(finding_->reference.at(allowed.tensor), &got->second,
                                            cuts_->setup().precision);
    apart.tolerance = allowed.tolerance;
    if (apart.deviates()) return Kind::kAccumulated;
  }
  return Kind::kTogether;
}

Json Bisection::uncertainty_json() const {
  const std::size_t from = deviation_->last_within ? *deviation_->last_within + 1 : 0;
  return {{"certain", from == deviation_->place},
          {"first", places_[from]},
          {"last", places_[deviation_->place]},
          {"not_compiled_after", deviation_->unusable}};
}

Json Bisection::finding_json() const {
  if (!finding_) return nullptr;
  Json operators = Json::array();
  for (const OperatorInfo& info : operators_) {
    const bool inside = info.index >= finding_->first && info.index <= finding_->last;
    if (inside && info.used && !info.constant) operators.push_back(operator_json(info));
  }
  Json tensors = Json::array();
  for (const TensorDifference& difference : finding_->tensors) {
    tensors.push_back(to_json(difference));
  }
  Json json = to_json(*finding_);
  json["operator"] = operator_json(operators_[static_cast<std::size_t>(finding_->last)]);
  json["operators"] = std::move(operators);
  json["tensors"] = std::move(tensors);
  json["worker_outcome"] = worker::name_of(finding_->end.outcome);
  json["worst_index"] = nullptr;
  if (const TensorDifference* worst = finding_->worst(); worst != nullptr) {
    json["worst_index"] =
        index_text(worst->element, finding_->reference.at(worst->tensor).spec().shape);
  }
  json["uncertainty"] = uncertainty_json();
  return json;
}

Json Bisection::model_json() const {
  const workload::ModelInfo& model = prepared_->setup.plan.model;
  return {{"name", model.name},
          {"path", model.model_path.native()},
          {"sha256", prepared_->setup.plan.model_file->content_hash},
          {"operators", operators_.size()},
          {"places", places_.size()},
          {"framework", model.framework},
          {"framework_version", model.framework_version},
          {"model_precision", model.model_precision},
          {"lossy_conversion", model.lossy_conversion}};
}

Json Bisection::whole_model_json() const {
  Json difference;
  if (const std::optional<double>& found = chosen_->relative_difference; found) {
    difference = check::value_json(*found);
  }
  return {{"outcome", worker::name_of(chosen_->end.outcome)},
          {"reason", chosen_->end.reason},
          {"relative_difference", difference}};
}

Json Bisection::result() const {
  const workload::RunRequest& run = prepared_->setup.plan.request;
  const BisectPrecision& precision = cuts_->setup().precision;
  const bool declared = !chosen_->declared_precision.empty();
  return {{"verdict", kKindNames[static_cast<std::size_t>(kind_)]},
          {"hardware_type", run.hardware_type},
          {"backend_version", prepared_->version},
          {"set", run.set_options},
          {"seed", run.seed},
          {"model", model_json()},
          {"sample", {{"id", chosen_->id}, {"index", chosen_->index}, {"chosen", chosen_->how}}},
          {"whole_model", whole_model_json()},
          {"precision",
           {{"name", precision.name},
            {"from", declared ? "the backend's compile result" : "the model info"},
            {"declared", chosen_->declared_precision},
            {"unit", precision.unit},
            {"scope", precision.scope == NoiseScope::kTensor ? "tensor" : "element"}}},
          {"tolerance", {{"allowance", kToleranceAllowance}, {"floor_ulps", kToleranceFloorUlps}}},
          {"finding", finding_json()},
          {"cuts", looked_.get()},
          {"counts",
           {{"tested_compilations", cuts_->counts().tested_compilations},
            {"reference_compilations", cuts_->counts().reference_compilations},
            {"refused", cuts_->counts().refused}}}};
}

int exit_code_of(Kind kind) {
  if (kind == Kind::kWithin) return kExitMet;
  return kind == Kind::kNotCompiled ? kExitPhaseFailed : kExitNotMet;
}

// Of all that another finding may come from: it takes the place of none but the same search's.
std::string key_of_finding(const Json& result, const BisectPrepared& prepared) {
  const Json key = {result["model"]["sha256"],
                    result["hardware_type"],
                    result["backend_version"],
                    prepared.setup.manifest.folder.native(),
                    prepared.tested.interact_info.get(),
                    prepared.setup.plan.request.dimensions,
                    result["seed"],
                    result["sample"]["id"]};
  return sha256_hex(key.dump(-1, ' ', false, Json::error_handler_t::replace)).substr(0, 12);
}

std::string repeat_command(const workload::RunRequest& run, const fs::path& folder) {
  workload::RunRequest shown;
  shown.hardware_type = run.hardware_type;
  shown.backends_folder = run.backends_folder;
  shown.backend_path = run.backend_path;
  shown.python = run.python;
  shown.requirements = run.requirements;
  shown.stubs = run.stubs;
  shown.set_options = run.set_options;
  shown.answers_file = run.answers_file;
  shown.timeout_s = run.timeout_s;
  return workload::command_line(shown, "bisect --repeat " + workload::shell_word(folder.native()));
}

std::string own_options(const BisectRequest& request) {
  std::string words = "bisect";
  if (request.sample) words += " --sample " + workload::shell_word(*request.sample);
  if (request.samples != BisectRequest{}.samples) {
    words += fmt::format(" --samples {}", request.samples);
  }
  return words;
}

// Everything into a folder of another name first, so that a reader sees all of it or nothing.
Status leave(const BisectRequest& request, const BisectPrepared& prepared, const CutSeen* finding,
             BisectSummary& summary) {
  Json& result = summary.result.mutable_value();
  const fs::path parent =
      request.inside_output ? request.run.output : fs::absolute(request.run.output).parent_path();
  summary.folder = request.inside_output ? parent / ("bisect-" + key_of_finding(result, prepared))
                                         : request.run.output;
  const workload::RunRequest& run = prepared.setup.plan.request;
  result["repeat_command"] =
      finding == nullptr ? Json() : Json(repeat_command(run, summary.folder));
  const fs::path staged = parent / fmt::format(".bisect-{}", ::getpid());
  std::error_code ignored;
  fs::remove_all(staged, ignored);
  RETURN_IF_ERROR(check_writable_folder(staged, 0));
  result["files"] = nullptr;
  const Status written = [&]() -> Status {
    if (finding != nullptr) {
      ASSIGN_OR_RETURN(const JsonValue files, write_minimal(*finding, staged));
      result["files"] = files.get();
    }
    make_utf8(result);
    RETURN_IF_ERROR(write_file_atomic(staged / kBisectRecord, result.dump(2) + "\n"));
    return put_folder(staged, summary.folder);
  }();
  if (!written.ok()) fs::remove_all(staged, ignored);
  return written;
}

}  // namespace

Result<BisectSummary> bisect(const BisectRequest& request, const RunEnvironment& environment) {
  const std::int64_t start_ns = now_ns();
  const UtcTime started = utc_now();
  const FolderGuard guard(request.run.output);
  if (!request.inside_output) RETURN_IF_ERROR(check_free_folder(request.run.output));
  ASSIGN_OR_RETURN(BisectPrepared prepared, prepare_bisect(request.run, environment));
  if (!prepared.setup.plan.model_file || prepared.setup.plan.model_file->format != "onnx") {
    return unimplemented(fmt::format("model format \"{}\": only ONNX models can be cut",
                                     prepared.setup.plan.model.model_format));
  }
  Bisection bisection(request, environment, prepared);
  RETURN_IF_ERROR(bisection.run());
  Json result = bisection.result();
  BisectSummary summary;
  summary.exit_code = exit_code_of(bisection.kind());
  result["schema_version"] = 1;
  result["assay_version"] = build_info().version;
  workload::RunRequest run = request.run;
  run.backends_folder = prepared.setup.plan.request.backends_folder;
  result["command"] = workload::command_line(run, own_options(request));
  result["started_utc"] = started.text;
  result["wall_ns"] = now_ns() - start_ns;
  result["exit_code"] = summary.exit_code;
  summary.result = JsonValue(result);
  RETURN_IF_ERROR(leave(request, prepared, bisection.finding(), summary));
  return summary;
}

}  // namespace assay::controller
