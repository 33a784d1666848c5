#pragma once

#include <cstdint>

namespace assay::loadgen {

// SplitMix64 (Steele, Lea, Flood 2014): small, and the same numbers on every host, which the
// standard library's distributions do not promise. Each source of randomness has one of its own.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E37'79B9'7F4A'7C15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58'476D'1CE4'E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D0'49BB'1331'11EB;
    return mixed ^ (mixed >> 31);
  }

  // Uniform in [0, bound), bound at least 1; the bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  // Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace assay::loadgen
