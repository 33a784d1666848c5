#pragma once

// What a backend's manifest declares of what it can take. What is not declared has to work.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace assay::host {

struct Support {
  std::optional<std::vector<std::string>> model_formats;  // empty: it runs a model of its own
  std::optional<std::vector<DType>> dtypes;               // of inputs and outputs
  std::optional<std::vector<std::int64_t>> ranks;
  bool dynamic_batch = true;
  bool empty_tensors = true;

  bool takes_format(std::string_view format) const;
  bool takes_dtype(DType dtype) const;
  bool takes_rank(std::int64_t rank) const;
};

// Of the manifest.json in `folder`: all defaults where there is none. Errors as read_manifest,
// which holds it against the schema too.
Result<Support> read_support(const std::filesystem::path& folder);

}  // namespace assay::host
