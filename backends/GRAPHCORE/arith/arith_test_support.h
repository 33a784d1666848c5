#pragma once

// Every arithmetic, and numbers to try it on.

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "arithmetic.h"
#include "level.h"
#include "round.h"

namespace graphcore::arith {

inline std::vector<Arithmetic> every_arithmetic() {
  std::vector<Arithmetic> all;
  for (const bool half : {true, false}) {
    for (const Partials partials : {Partials::kFloat, Partials::kHalf}) {
      for (const Rounding rounding : {Rounding::kNearestEven, Rounding::kStochastic}) {
        for (const Overflow overflow : {Overflow::kSaturate, Overflow::kNan}) {
          all.push_back({half, partials, rounding, overflow, 7});
        }
      }
    }
  }
  return all;
}

inline std::string name_of(const Arithmetic& arithmetic) {
  std::string name = arithmetic.half_storage ? "Fp16" : "Fp32";
  name += arithmetic.partials == Partials::kHalf ? "PartialsHalf" : "PartialsFloat";
  name += arithmetic.rounding == Rounding::kStochastic ? "Stochastic" : "Nearest";
  return name + (arithmetic.overflow == Overflow::kNan ? "Nan" : "Saturate");
}

// Operands as the arithmetic stores them: normal values times `scale`, some of them zeros.
inline std::vector<float> operands(std::size_t n, float scale, const Arithmetic& arithmetic,
                                   unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = random() % 16 == 0 ? 0.0F : scale * normal(random);
  Counters ignored;
  if (arithmetic.half_storage) {
    round_values(values.data(), values.data(), n, {}, 0, ignored, 0, Level::kPlain);
  }
  return values;
}

// Equal to the last bit, and -0 is not 0.
inline std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

}  // namespace graphcore::arith
