#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "plan.h"

namespace graphcore {

// "modelled" of the compile result: a row a batch size, and what the model was checked against.
nlohmann::ordered_json modelled_json(const std::vector<Plan>& plans, const Options& options);

// The artifact's part "plan": every operator at every batch size.
nlohmann::ordered_json plan_json(const std::vector<Plan>& plans);

}  // namespace graphcore
