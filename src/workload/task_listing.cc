#include "workload/task_listing.h"

#include <nlohmann/json.hpp>

#include "base/json_file.h"
#include "workload/workload.h"

namespace assay::workload {

Result<TaskListing> describe_task(const std::filesystem::path& workload_file,
                                  const ModelFolders& folders) {
  ASSIGN_OR_RETURN(const JsonFile file, JsonFile::read(workload_file));
  ASSIGN_OR_RETURN(const Workload workload, parse_workload(file));
  ASSIGN_OR_RETURN(const ModelInfo info,
                   load_model_info(folders.model_zoo / (workload.model + ".json"), folders));
  TaskListing listing;
  listing.model = workload.model;
  listing.format = info.model_format;
  listing.precision = info.model_precision;
  listing.dataset = info.dataset_name.value_or("generated");
  if (info.metric->is_object()) listing.metric = info.metric->value("name", "");
  listing.model_found = info.model_found;
  const Json expected = file.value().value("expected", Json::object());
  for (const auto& [metric, value] : expected.items()) {
    listing.expected.push_back({metric, value.get<double>()});
  }
  return listing;
}

}  // namespace assay::workload
