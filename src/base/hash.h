#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

// Incremental SHA-256. One thread at a time.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  // 64 lower-case hexadecimal digits. Call once; the object is spent after it.
  std::string hex_digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);

// Streams the file: memory does not grow with it.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace assay
