#include "chips.h"

#include <array>

namespace graphcore {
namespace {

constexpr std::int64_t kTiles = 1472;
constexpr std::int64_t kTileBytes = std::int64_t{624} * 1024;
constexpr std::array<Chip, 3> kChips = {{
    {"gc200", "Mk2 GC200", kTiles, kTileBytes, 1.33e9, 64, 16, 4},
    {"bow", "Bow", kTiles, kTileBytes, 1.85e9, 64, 16, 4},
    {"c600", "C600", kTiles, kTileBytes, 1.5e9, 64, 16, 4},
}};

}  // namespace

const Chip* find_chip(std::string_view name) {
  for (const Chip& chip : kChips) {
    if (name == chip.name) return &chip;
  }
  return nullptr;
}

const char* chip_names() { return "gc200, bow, c600"; }

}  // namespace graphcore
