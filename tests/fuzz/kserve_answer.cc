// What a server answers to an inference request: the first two bytes say how long its JSON claims
// to be, the rest is the body. Whatever comes is an answer within the limits or the backend's own
// error.

#include <algorithm>
#include <optional>
#include <vector>

#include "answer.h"
#include "fuzz.h"

using namespace kserve;  // NOLINT(google-build-using-namespace): one function

namespace {

using assay::backend::DType;

constexpr AnswerLimits kLimits{.values = 64, .tensors = 4};
constexpr std::uint64_t kNoHeader = 0xFFFF;

void check_output(const Answer& answer, const OutputAnswer& output, DType dtype) {
  try {
    const std::size_t rank = output.shape ? output.shape->size() : 0;
    const auto& match =
        matching_output(answer, {output.name, dtype, std::vector<std::int64_t>(rank, -1)});
    std::uint64_t elements = 1;
    for (const std::int64_t size : *match.shape) elements *= static_cast<std::uint64_t>(size);
    const std::size_t size_bytes = elements * assay::backend::size_of(dtype);
    if (match.binary_size) FUZZ_CHECK(match.bytes.size() == size_bytes);
    std::vector<std::uint64_t> memory(size_bytes / sizeof(std::uint64_t) + 1);
    copy_output(match, dtype, memory.data());
  } catch (const assay::backend::Error&) {
    return;  // said what is wrong
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint64_t claimed = data[0] + 256U * data[1];
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::optional<std::uint64_t> header_length;
  if (claimed != kNoHeader) header_length = claimed;
  try {
    const Answer answer = parse_answer(body, header_length, kLimits);
    FUZZ_CHECK(answer.outputs.size() <= kLimits.tensors);
    std::size_t values = 0;
    for (const OutputAnswer& output : answer.outputs) {
      values += output.numbers.size();
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBool, DType::kInt64,
                                DType::kUInt8, DType::kFloat64}) {
        check_output(answer, output, dtype);
      }
    }
    FUZZ_CHECK(values <= kLimits.values);
  } catch (const assay::backend::Error&) {
    return 0;
  }
  return 0;
}
