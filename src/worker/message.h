#pragma once

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay::worker {

struct Message {
  Json body;
  int fd = -1;
};

}  // namespace assay::worker
