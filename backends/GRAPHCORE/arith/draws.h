#pragma once

// The random numbers of stochastic rounding, by place rather than by turn: each is a function of
// the seed, the operator, the element and the step within the element.

#include <cstdint>

namespace graphcore::arith {

struct DrawKeys {
  std::uint32_t element = 0;
  std::uint32_t step = 0;
};

// A bijection of 32 bits that spreads them well. Source: C. Wellons, hash-prospector, lowbias32.
constexpr std::uint32_t mix32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7FEB352DU;
  x = (x ^ (x >> 15)) * 0x846CA68BU;
  return x ^ (x >> 16);
}

// Source: Steele, Lea and Flood, OOPSLA 2014 (SplitMix64).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

constexpr DrawKeys draw_keys(std::uint64_t seed, std::uint64_t op_key) {
  const std::uint64_t key = mix64(mix64(seed) ^ op_key);
  return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

// Of an operator's output element `element` (its low 32 bits) at rounding number `step`.
constexpr std::uint32_t draw(const DrawKeys& keys, std::uint32_t element, std::uint32_t step) {
  return mix32(mix32(element ^ keys.element) ^ mix32(step + keys.step));
}

}  // namespace graphcore::arith
