#pragma once

#include <string>

#include "base/json_value.h"
#include "base/result.h"

namespace assay::drill {

// What a drill saw of a backend that answered: facts, and how the contract was broken, "" when it
// held. A backend that fails where it should work is a Status instead, with the backend's own code.
struct Finding {
  std::string violation;
  JsonValue facts;
};

// A finding without facts.
inline Finding broken(std::string violation) { return {std::move(violation), {}}; }

}  // namespace assay::drill
