#pragma once

#include "base/json_value.h"

namespace assay::worker {

struct Message {
  JsonValue body;
  int fd = -1;
};

}  // namespace assay::worker
