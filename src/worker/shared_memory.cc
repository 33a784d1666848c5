#include "worker/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace assay::worker {
namespace {

Result<std::byte*> map(int fd, std::size_t size_bytes) {
  void* data = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    return errno_status(errno, fmt::format("cannot map {} shared bytes", size_bytes));
  }
  return static_cast<std::byte*>(data);
}

}  // namespace

Result<SharedMemory> SharedMemory::create(std::size_t size_bytes) {
  const int fd = ::memfd_create("assay", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return errno_status(errno, "cannot create shared memory");
  SharedMemory memory(fd, nullptr, 0);
  if (::ftruncate(fd, static_cast<off_t>(size_bytes)) != 0 ||
      ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return errno_status(errno, fmt::format("cannot size shared memory to {} bytes", size_bytes));
  }
  ASSIGN_OR_RETURN(memory.data_, map(fd, size_bytes));
  memory.size_bytes_ = size_bytes;
  return memory;
}

Result<SharedMemory> SharedMemory::attach(int fd, std::size_t size_bytes) {
  SharedMemory memory(fd, nullptr, 0);
  struct stat info{};
  if (::fstat(fd, &info) != 0) return errno_status(errno, "cannot stat shared memory");
  if (info.st_size < 0 || static_cast<std::size_t>(info.st_size) < size_bytes) {
    return invalid_argument(
        fmt::format("shared memory holds {} bytes, {} were announced", info.st_size, size_bytes));
  }
  ASSIGN_OR_RETURN(memory.data_, map(fd, size_bytes));
  memory.size_bytes_ = size_bytes;
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this != &other) {
    release();
    fd_ = std::exchange(other.fd_, -1);
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

SharedMemory::~SharedMemory() { release(); }

void SharedMemory::release() {
  if (data_ != nullptr) ::munmap(data_, size_bytes_);
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace assay::worker
