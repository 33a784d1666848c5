// A workload that is accepted comes back unchanged from its own JSON.

#include "workload/workload.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "fuzz.h"

using namespace assay;  // NOLINT(google-build-using-namespace): one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = JsonFile::parse({reinterpret_cast<const char*>(data), size}, "f");
  if (!file.ok()) return 0;
  const auto workload = workload::parse_workload(*file);
  if (!workload.ok()) {
    FUZZ_CHECK(workload.status().message().starts_with("f:"));
    return 0;
  }
  FUZZ_CHECK(workload->clients >= 1 && workload->iterations >= 1);
  FUZZ_CHECK(workload->data_percent >= 1 && workload->data_percent <= 100);
  if (!workload->batch_sizes) return 0;  // to_json writes a list, which may not be empty
  const auto again =
      workload::parse_workload(JsonFile::from_value(workload::to_json(*workload), "g"));
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(workload::to_json(*again) == workload::to_json(*workload));
  return 0;
}
