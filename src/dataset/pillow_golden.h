#pragma once

// For tests: what tests/data/pillow/generate.py recorded of Pillow.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "dataset/image.h"

namespace assay::testing {

inline std::filesystem::path pillow_folder() {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/pillow";
}

inline nlohmann::ordered_json pillow_cases(std::string_view file) {
  const auto text = read_file(pillow_folder() / file);
  return nlohmann::ordered_json::parse(text.value()).at("cases");
}

inline std::string digest_of(const dataset::Image& image) {
  return sha256_hex({reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size()});
}

// noise() of generate.py.
inline std::vector<std::uint8_t> noise(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint8_t> values;
  std::uint32_t state = seed;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    const std::uint32_t top = state >> 24;
    values.push_back(static_cast<std::uint8_t>(top < 64 ? 0 : top >= 192 ? 255 : (top - 64) * 2));
  }
  return values;
}

}  // namespace assay::testing
