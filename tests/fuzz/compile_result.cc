// A compile result that is accepted is free of contradictions, and stays so when normalised.

#include "workload/compile_result.h"

#include <nlohmann/json.hpp>

#include "fuzz.h"

using namespace assay;  // NOLINT(google-build-using-namespace): one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = JsonFile::parse({reinterpret_cast<const char*>(data), size}, "f");
  if (!file.ok()) return 0;
  const auto result = workload::parse_compile_result(*file);
  if (!result.ok()) {
    FUZZ_CHECK(result.status().message().starts_with("f:"));
    return 0;
  }
  for (const workload::Segment& segment : result->segments) {
    FUZZ_CHECK(!segment.is_fallback || result->sg_percent < 100);
    for (const workload::CompiledObject& object : segment.compiled) {
      const auto found = workload::object_for_batch(segment, object.batch_size, false);
      FUZZ_CHECK(found.ok() && *found == &object);
    }
  }
  FUZZ_CHECK(workload::compile_result_from_backend(*result->document, "HW").ok());
  return 0;
}
