#include "controller/data.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "dataset/registry.h"

namespace assay::controller {
namespace {

std::vector<dataset::InputRange> ranges_of(const ModelFile& file) {
  std::vector<dataset::InputRange> ranges;
  for (std::size_t i = 0; i < file.input_ranges.size(); ++i) {
    const auto& range = file.input_ranges[i];
    ranges.push_back({file.signature.inputs[i].name, range.min, range.max});
  }
  return ranges;
}

}  // namespace

Result<std::unique_ptr<dataset::Dataset>> open_data(const workload::ModelInfo& info,
                                                    const ModelFile* file, const std::string& task,
                                                    bool generated, std::uint64_t seed,
                                                    const Installation& installation) {
  dataset::DatasetRequest request;
  request.task = task;
  request.data_folders = {installation.datasets, installation.cache / "data"};
  request.cache_folder = installation.cache;
  request.model_folder = installation.model_zoo;
  request.label_offset = info.label_offset;
  request.inputs = info.inputs;
  request.seed = seed;
  if (!generated && info.dataset_name) {
    request.dataset_name = *info.dataset_name;
    ASSIGN_OR_RETURN(request.preprocess, dataset::parse_preprocess(info.preprocess.get()));
  } else if (file != nullptr) {
    request.ranges = ranges_of(*file);
  }
  return dataset::open_dataset(request);
}

bool is_fetched_task(const Installation& installation, const std::string& task) {
  const Result<std::string> text =
      read_file(installation.fetch_script.parent_path() / "tasks.json");
  if (!text.ok()) return false;
  const Json tasks = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  return tasks.is_object() &&
         (tasks.contains(task) || (tasks.contains("tasks") && tasks["tasks"].contains(task)));
}

}  // namespace assay::controller
