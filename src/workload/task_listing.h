#pragma once

// What can be said of a task before it is run: `assay list tasks`.

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/model_info.h"

namespace assay::workload {

// A figure that a run of the task is known to give, from the workload's `expected`.
struct ExpectedFigure {
  std::string metric;
  double value = 0;  // in the metric's own unit
};

struct TaskListing {
  std::string model;      // model_zoo/<model>.json
  std::string format;     // onnx, ...
  std::string precision;  // "" when the model info does not say
  std::string dataset;    // "generated" when there is none
  std::string metric;     // "" without one: speed and numerics only
  std::vector<ExpectedFigure> expected;
  bool model_found = false;
};

// Reads workloads/<task>.json and the model info that it names; opens neither model nor data. Every
// problem of a file is in the error.
Result<TaskListing> describe_task(const std::filesystem::path& workload_file,
                                  const ModelFolders& folders);

}  // namespace assay::workload
