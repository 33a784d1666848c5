#include "controller/output_room.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::controller {
namespace {

constexpr int kMostAttempts = 16;  // the last has at least 2^15 times the room of the first

}  // namespace

Result<std::uint64_t> missing_output_bytes(const TypedObject& answer) {
  if (!answer.has("needed_output_bytes")) return std::uint64_t{0};
  return answer.count("needed_output_bytes");
}

Result<std::size_t> grow_output_room(
    std::size_t guess_bytes, const std::function<Result<std::uint64_t>(std::size_t)>& attempt) {
  std::size_t bytes = guess_bytes;
  for (int i = 0; i < kMostAttempts; ++i) {
    ASSIGN_OR_RETURN(const std::uint64_t needed, attempt(bytes));
    if (needed == 0) return bytes;
    bytes = std::max<std::size_t>(bytes * 2, needed);
  }
  return resource_exhausted(
      fmt::format("the outputs ask for more room each time, now for {} bytes of a batch", bytes));
}

}  // namespace assay::controller
