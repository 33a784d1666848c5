#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace assay::dataset {

// A file that is read at any offset by any number of threads at once, and never held in memory.
class RandomFile {
 public:
  // An existing file, for reading.
  static Result<RandomFile> open(const std::filesystem::path& path);

  // An empty file without a name below `folder` (made when missing), gone when this object is: for
  // what was unpacked and is too large for memory.
  static Result<RandomFile> make_scratch(const std::filesystem::path& folder);

  RandomFile(RandomFile&& other) noexcept;
  RandomFile& operator=(RandomFile&& other) noexcept;
  ~RandomFile();

  // Adds bytes at the end of a scratch file. One thread, before any reading.
  Status append(std::span<const std::byte> bytes);

  // Fills `into` from `offset`. kDataLoss when the file ends before. Thread-safe.
  Status read_at(std::uint64_t offset, std::span<std::byte> into) const;

  std::uint64_t size_bytes() const { return size_bytes_; }

 private:
  RandomFile(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  int fd_ = -1;
  std::string name_;  // for messages
  std::uint64_t size_bytes_ = 0;
};

}  // namespace assay::dataset
