#pragma once

// tools/fetch/tasks.json: what `assay fetch` would bring for a task.

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/json_value.h"
#include "base/result.h"

namespace assay::cli {

// What a task needs beside the checkout.
struct FetchNeed {
  bool needed = false;              // false: everything is in the checkout
  bool there = true;                // all of it is in the cache
  std::int64_t download_mb = 0;     // packages that hold the data and the models
  std::int64_t environment_mb = 0;  // on disk: Python packages that build models from those
};

class FetchManifest {
 public:
  // An installed Assay has none: every task then reads as needing nothing.
  static Result<FetchManifest> read(const std::filesystem::path& file);

  FetchNeed need(const std::string& task, const std::filesystem::path& cache) const;

 private:
  JsonValue tasks_;  // the document; null when there is none
};

}  // namespace assay::cli
