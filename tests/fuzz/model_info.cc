// A model info that is accepted describes every input whole, for any batch.

#include "workload/model_info.h"

#include <nlohmann/json.hpp>

#include "fuzz.h"

using namespace assay;  // NOLINT(google-build-using-namespace): one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = JsonFile::parse({reinterpret_cast<const char*>(data), size}, "f");
  if (!file.ok()) return 0;
  const auto info = workload::parse_model_info(*file, {"/zoo", "/fetched"});
  if (!info.ok()) {
    FUZZ_CHECK(info.status().message().starts_with("f:"));
    return 0;
  }
  FUZZ_CHECK(!info->inputs.empty());
  FUZZ_CHECK(info->inputs.size() == info->batch_axes.size());
  FUZZ_CHECK(info->model_path.is_absolute());
  for (std::size_t i = 0; i < info->inputs.size(); ++i) {
    FUZZ_CHECK(workload::batched_shape(*info, i, 3).ok());
  }
  FUZZ_CHECK(workload::to_json(*info).at("input_shape").size() == info->inputs.size());
  return 0;
}
