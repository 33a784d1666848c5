#pragma once

// A file that is being written: it takes its name only when it is whole. Internal to check.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"

namespace assay::check {

// Written beside `path`, renamed to it by commit(), removed when it goes without one. Writes that
// follow one another are gathered, so that small ones cost no system call each. One thread at a
// time. Errors are those of the operating system: kResourceExhausted when the disk is full.
class PartialFile {
 public:
  static Result<PartialFile> create(const std::filesystem::path& path);
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&& other) noexcept;
  ~PartialFile();

  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes);

  // Sets the size: a hole where nothing was written.
  Status resize(std::uint64_t size_bytes);

  // Everything on disk, and then under its name.
  Status commit();

 private:
  PartialFile(int fd, std::filesystem::path path, std::filesystem::path partial);
  Status flush();
  void discard();

  int fd_ = -1;
  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::uint64_t gathered_offset_ = 0;
  std::vector<std::byte> gathered_;
};

}  // namespace assay::check
