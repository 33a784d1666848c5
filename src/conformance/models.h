#pragma once

// The models of the suite, made here operator by operator: no file is fetched, and every right
// answer is known. All values are small whole numbers, halves or the dtype's own extremes, which no
// precision rounds.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "base/result.h"
#include "drill/case.h"

namespace assay::conformance {

struct Model {
  std::filesystem::path path;
  JsonValue info;  // model_info, as backends get it
  std::vector<drill::Case> cases;
  bool batched = false;  // cases are samples to be stacked
};

// Each writes <name>.onnx into `folder`, which exists.

// y [?,3] = x [?,4] * W + b, FLOAT32. With `fixed_batch` 1 instead of ?.
Result<Model> linear_model(const std::filesystem::path& folder, bool fixed_batch);
// y [1,4] = 2 * (|x - 1| + 3) - 4, FLOAT32, in kChain operators.
inline constexpr int kChain = 6;
Result<Model> chain_model(const std::filesystem::path& folder);
// y = x, [1,6], with the dtype's extremes among the values.
Result<Model> identity_model(const std::filesystem::path& folder, DType dtype);
// Of x with `rank` dimensions: itself, itself twice along the last one, and, when `flat`, all its
// elements in one dimension.
Result<Model> rank_model(const std::filesystem::path& folder, std::int64_t rank, bool flat);
// y = x of no elements: [1,0,3].
Result<Model> empty_model(const std::filesystem::path& folder);
// y = x, [1,elements] FLOAT32. Without cases.
Result<Model> big_model(const std::filesystem::path& folder, std::int64_t elements);

// For a backend that runs a model of its own: no file, and x [1,4] FLOAT32 to y for one that goes
// by the model info.
Model no_model();

// Of a model file that somebody else made, of which nothing is known.
Model foreign_model(const std::filesystem::path& path, const std::string& format);

}  // namespace assay::conformance
