#pragma once

#include <string>
#include <vector>

#include "base/json_value.h"
#include "base/result.h"
#include "controller/installation.h"

namespace assay::cli {

// One row of a list: a name and what is to be said of it.
struct Row {
  std::string name;
  std::string about;
  std::vector<std::string> details;  // lines below the row
  JsonValue facts;                   // further members for --json: an object or null
};

// The tasks: model, data, what a run is known to give, and what has to be fetched first.
Result<std::vector<Row>> task_rows(const controller::Installation& installation);

}  // namespace assay::cli
