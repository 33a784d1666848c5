// The `preprocess` object of a model info.
#include <nlohmann/json.hpp>
#include <string_view>

#include "dataset/preprocess.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const assay::Json json = assay::Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return 0;
  const auto preprocess = assay::dataset::parse_preprocess(json);
  if (preprocess.ok()) FUZZ_CHECK(!to_string(*preprocess).empty());
  return 0;
}
