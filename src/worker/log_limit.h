#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

namespace assay::worker {

// Keeps the log of a worker that prints without end from filling the disk: of one that grew beyond
// twice `kept_bytes` the beginning and the newest lines are kept, and a line between them says what
// is missing. Another process may append to the file meanwhile. One thread at a time.
class LogLimit {
 public:
  static constexpr std::uint64_t kDefaultBytes = std::uint64_t{8} << 20;

  explicit LogLimit(std::filesystem::path log, std::uint64_t kept_bytes = kDefaultBytes)
      : log_(std::move(log)), kept_bytes_(kept_bytes) {}

  // Looks, and cuts when there is too much.
  void enforce();

  std::uint64_t dropped_bytes() const { return dropped_bytes_; }

 private:
  std::filesystem::path log_;
  std::uint64_t kept_bytes_;
  std::uint64_t dropped_bytes_ = 0;
};

}  // namespace assay::worker
