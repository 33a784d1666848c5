#pragma once

// What this process holds, as the kernel sees it.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace assay::drill {

struct Resources {
  std::multiset<std::string> descriptors;  // what each is open on: "/dev/shm/x", "socket"
  std::size_t threads = 0;
  std::size_t children = 0;
};

Resources own_resources();

// What `after` has more than `before`: `a descriptor of /dev/shm/x; 2 threads`; "" for nothing.
std::string growth(const Resources& before, const Resources& after);

// Memory that belongs to this process alone, resident or swapped.
std::int64_t own_memory_bytes();

}  // namespace assay::drill
