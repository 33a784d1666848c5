// What lies in an artifact of the IPU model: the index is accepted and says the same when it is
// written again, or it is refused by the backend's own error. The same bytes as options, anchors,
// lowering, weight index and graph are refused, never believed.

#include <string>
#include <string_view>

#include "artifact.h"
#include "fuzz.h"

using namespace graphcore;  // NOLINT(google-build-using-namespace): one function

namespace {

using assay::backend::Error;

void read_as_index(std::string_view text) {
  try {
    const Index index = parse_index(text);
    FUZZ_CHECK(index_text(parse_index(index_text(index))) == index_text(index));
  } catch (const Error&) {
    return;  // said what is wrong
  }
}

void read_as_part(const std::string& part, const std::string& bytes) {
  std::map<std::string, std::string> parts = {
      {"options", "[]"}, {"anchors", "[]"}, {"lowering", R"({"rounding_sites": []})"},
      {"graph", ""},     {"weights", ""},   {"weight_index", "[]"}};
  parts[part] = bytes;
  try {
    artifact_of(parts);
  } catch (const Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read_as_index(bytes);
  for (const char* part : {"options", "anchors", "lowering", "graph", "weight_index"}) {
    read_as_part(part, bytes);
  }
  return 0;
}
