// assay bisect --repeat: the minimal model of a finding, once more.

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/json_file.h"
#include "controller/bisect.h"
#include "controller/bisect_prepare.h"
#include "controller/bisect_record.h"
#include "controller/run_folders.h"
#include "controller/typed_object.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

struct KeptFinding {
  TensorSet inputs;
  TensorSet expected;
  std::map<std::string, double> tolerances;
  BisectPrecision precision;
  workload::ModelInfo model;  // what the whole model's info says that its file does not
};

Status read_tolerances(const TypedObject& record, KeptFinding& kept) {
  ASSIGN_OR_RETURN(const TypedObject finding, record.object("finding"));
  ASSIGN_OR_RETURN(const std::vector<TypedObject> tensors, finding.list("tensors"));
  for (const TypedObject& tensor : tensors) {
    ASSIGN_OR_RETURN(const std::string name, tensor.text("tensor"));
    ASSIGN_OR_RETURN(kept.tolerances[name], tensor.number("tolerance"));
  }
  return ok_status();
}

Status read_model_facts(const TypedObject& record, workload::ModelInfo& info) {
  ASSIGN_OR_RETURN(const TypedObject model, record.object("model"));
  ASSIGN_OR_RETURN(info.framework, model.text("framework"));
  ASSIGN_OR_RETURN(info.framework_version, model.text("framework_version"));
  ASSIGN_OR_RETURN(info.model_precision, model.text("model_precision"));
  ASSIGN_OR_RETURN(info.lossy_conversion, model.flag("lossy_conversion"));
  return ok_status();
}

Result<KeptFinding> read_finding(const fs::path& folder) {
  ASSIGN_OR_RETURN(const JsonFile file, JsonFile::read(folder / kBisectRecord));
  const TypedObject record(file.value(), file.name());
  if (!record.has("finding")) {
    return invalid_argument(fmt::format(
        "the bisection in {} found no operator: there is nothing to repeat", quoted(folder)));
  }
  KeptFinding kept;
  RETURN_IF_ERROR(read_tolerances(record, kept));
  RETURN_IF_ERROR(read_model_facts(record, kept.model));
  ASSIGN_OR_RETURN(const TypedObject precision, record.object("precision"));
  ASSIGN_OR_RETURN(const std::string name, precision.text("name"));
  kept.precision = bisect_precision(name);
  ASSIGN_OR_RETURN(kept.inputs, read_tensors(folder / kMinimalInput));
  ASSIGN_OR_RETURN(kept.expected, read_tensors(folder / kMinimalExpected));
  return kept;
}

// Bad input for the codes of a file that is not as it should be.
Result<KeptFinding> read_kept(const fs::path& folder) {
  auto kept = read_finding(folder);
  if (!kept.ok()) return kept.status().with_context("--repeat");
  return kept;
}

Json compare(const KeptFinding& kept, const TensorSet& got, bool& deviates) {
  Json tensors = Json::array();
  for (const auto& [name, expected] : kept.expected) {
    const auto found = got.find(name);
    TensorDifference difference =
        compare_tensor(expected, found == got.end() ? nullptr : &found->second, kept.precision);
    const auto tolerance = kept.tolerances.find(name);
    if (tolerance != kept.tolerances.end()) difference.tolerance = tolerance->second;
    deviates = deviates || difference.deviates();
    Json json = to_json(difference);
    json["index"] = index_text(difference.element, expected.spec().shape);
    tensors.push_back(std::move(json));
  }
  return tensors;
}

}  // namespace

Result<BisectSummary> repeat_bisect(const RepeatRequest& request,
                                    const RunEnvironment& environment) {
  ASSIGN_OR_RETURN(const KeptFinding kept, read_kept(request.folder));
  workload::RunRequest run = request.run;
  run.model = request.folder / kMinimalModel;
  run.output = staging_folder(environment.installation.cache, ::getpid());
  const FolderGuard guard(run.output);
  ASSIGN_OR_RETURN(BisectPrepared prepared, prepare_bisect(run, environment));
  workload::ModelInfo& model = prepared.setup.plan.model;
  model.framework = kept.model.framework;
  model.framework_version = kept.model.framework_version;
  model.model_precision = kept.model.model_precision;
  model.lossy_conversion = kept.model.lossy_conversion;
  ModelCalls calls;
  calls.model = model.model_path;
  calls.calls = {&kept.inputs};
  calls.folder = prepared.work.path();
  calls.name = "bisect-repeat";
  RETURN_IF_ERROR(describe_model(prepared.setup.plan, prepared.tested.interact_info, calls));
  ASSIGN_OR_RETURN(const ModelAnswers answers,
                   run_model(prepared.tested, calls, *environment.observer));
  bool deviates = answers.outputs.empty();
  Json result = {{"outcome", worker::name_of(answers.end.outcome)},
                 {"reason", answers.end.reason},
                 {"tensors", nullptr}};
  if (!answers.outputs.empty()) {
    result["tensors"] = compare(kept, answers.outputs.front(), deviates);
  }
  result["deviates"] = deviates;
  BisectSummary summary;
  summary.exit_code = answers.refused() ? kExitPhaseFailed : deviates ? kExitNotMet : kExitMet;
  summary.folder = request.folder;
  summary.result = JsonValue(result);
  return summary;
}

}  // namespace assay::controller
