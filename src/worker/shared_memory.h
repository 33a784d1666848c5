#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace assay::worker {

// A block of memory that two processes see, behind a memfd. The creator seals its size, so the
// other side cannot shrink it under us. Unmapped and closed when it goes. Not thread-safe itself;
// the bytes are shared by whatever rule their users agree on.
class SharedMemory {
 public:
  // Zeroed pages of at least `size_bytes` (>= 1). kResourceExhausted when there is no room.
  static Result<SharedMemory> create(std::size_t size_bytes);
  // Maps what `fd` refers to and owns `fd`. kInvalidArgument when it is smaller than `size_bytes`.
  static Result<SharedMemory> attach(int fd, std::size_t size_bytes);

  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  std::span<std::byte> bytes() const { return {data_, size_bytes_}; }
  // For handing to the other process; stays owned here.
  int fd() const { return fd_; }

 private:
  SharedMemory(int fd, std::byte* data, std::size_t size_bytes)
      : fd_(fd), data_(data), size_bytes_(size_bytes) {}
  void release();

  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace assay::worker
