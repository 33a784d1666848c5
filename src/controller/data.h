#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/installation.h"
#include "dataset/dataset.h"
#include "model/model.h"
#include "workload/model_info.h"

namespace assay::controller {

// The data set that a model info names, or generated data when it names none (or when `generated`
// asks for it). `file` is the model as read, for the ranges of generated values; may be null.
Result<std::unique_ptr<dataset::Dataset>> open_data(const workload::ModelInfo& info,
                                                    const ModelFile* file, const std::string& task,
                                                    bool generated, std::uint64_t seed,
                                                    const Installation& installation);

// True when some task of tools/fetch/tasks.json gets the model or data of `task`.
bool is_fetched_task(const Installation& installation, const std::string& task);

}  // namespace assay::controller
