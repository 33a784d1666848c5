#include "worker/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "base/cgroup.h"

namespace assay::worker {
namespace {

std::int64_t number_of_environment(const char* name) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (text == nullptr) return 0;
  const std::string_view digits(text);
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return std::max<std::int64_t>(value, 0);
}

}  // namespace

std::int64_t memory_limit_of(std::int64_t machine_bytes, std::int64_t group_bytes,
                             std::int64_t asked_bytes) {
  std::int64_t limit = 0;
  for (const std::int64_t bound :
       {machine_bytes / 10 * 9, group_bytes / 10 * 9, std::max<std::int64_t>(asked_bytes, 0)}) {
    if (bound > 0 && (limit == 0 || bound < limit)) limit = bound;
  }
  return limit;
}

std::int64_t memory_limit_bytes() {
  return memory_limit_of(::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE),
                         cgroup_memory_limit_bytes().value_or(0),
                         number_of_environment("ASSAY_MEMORY_LIMIT"));
}

}  // namespace assay::worker
