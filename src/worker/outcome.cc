#include "worker/outcome.h"

#include <array>

namespace assay::worker {

std::string_view name_of(Outcome outcome) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "ok", "failed", "crashed", "timed_out", "out_of_memory", "skipped"};
  return kNames[static_cast<std::size_t>(outcome)];
}

}  // namespace assay::worker
