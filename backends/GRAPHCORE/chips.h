#pragma once

// The published figures of the chips.

#include <cstdint>
#include <string_view>

namespace graphcore {

struct Chip {
  const char* name;   // as the option ipu_version has it
  const char* title;  // "Mk2 GC200"
  std::int64_t tiles;
  std::int64_t tile_bytes;  // SRAM of one tile
  double clock_hz;
  std::int64_t fp16_macs;       // per tile and cycle
  std::int64_t fp32_macs;       // per tile and cycle
  std::int64_t exchange_bytes;  // per tile and cycle
};

// nullptr for a name that is none of the list.
const Chip* find_chip(std::string_view name);

// "gc200, bow, c600"
const char* chip_names();

}  // namespace graphcore
