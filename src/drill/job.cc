#include "drill/job.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "drill/answers.h"

namespace assay::drill {
namespace {

constexpr std::size_t kMadeUpCases = 2;

// Free dimensions: the batch in front, one elsewhere.
Result<Case> made_up(const host::RuntimeBackend& runtime, std::uint64_t seed) {
  Case made;
  for (TensorSpec spec : runtime.signature().inputs) {
    for (std::size_t axis = 0; axis < spec.shape.size(); ++axis) {
      if (spec.shape[axis] < 0) spec.shape[axis] = axis == 0 ? runtime.loaded_batch_size() : 1;
    }
    ASSIGN_OR_RETURN(Tensor tensor, tensor_with(std::move(spec), {.seed = seed}));
    made.inputs.push_back(std::move(tensor));
  }
  return made;
}

}  // namespace

Json to_json(const Job& job) {
  Json cases = Json::array();
  for (const Case& one : job.cases) cases.push_back(to_json(one));
  return {{"configs", job.load.configs},
          {"compile_result", job.load.compile_result},
          {"artifact_folder", job.load.artifact_folder.string()},
          {"batch_size", job.load.batch_size},
          {"cases", std::move(cases)},
          {"batched", job.batched}};
}

Result<Job> job_from_json(const Json& json) {
  try {
    Job job;
    job.load.configs = json.at("configs").get<std::string>();
    job.load.compile_result = json.at("compile_result").get<std::string>();
    job.load.artifact_folder = json.at("artifact_folder").get<std::string>();
    job.load.batch_size = json.at("batch_size").get<std::int64_t>();
    job.batched = json.at("batched").get<bool>();
    for (const Json& each : json.at("cases")) {
      ASSIGN_OR_RETURN(Case one, case_from_json(each));
      job.cases.push_back(std::move(one));
    }
    return job;
  } catch (const Json::exception& error) {
    return data_loss(fmt::format("job: {}", error.what()));
  }
}

Result<host::RuntimeBackend> load(const host::Library& library, const Job& job) {
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, host::RuntimeBackend::create(library));
  RETURN_IF_ERROR(runtime.load(job.load));
  return runtime;
}

Result<std::vector<Case>> cases_for(host::RuntimeBackend& runtime, const Job& job) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < job.cases.size(); ++i) {
    if (job.batched) {
      ASSIGN_OR_RETURN(Case batch, batch_of(job.cases, i, runtime.loaded_batch_size()));
      cases.push_back(std::move(batch));
      continue;
    }
    ASSIGN_OR_RETURN(Case copy, copy_of(job.cases[i]));
    cases.push_back(std::move(copy));
  }
  for (std::uint64_t seed = 0; job.cases.empty() && seed < kMadeUpCases; ++seed) {
    ASSIGN_OR_RETURN(Case made, made_up(runtime, seed));
    ASSIGN_OR_RETURN(made.outputs, answer(runtime, made.inputs));
    cases.push_back(std::move(made));
  }
  return cases;
}

}  // namespace assay::drill
