#pragma once

// Copies of an ONNX model that make rounding errors on the way, to see how far they come through
// to the outputs.

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace assay {

// What a shift of size `unit` is relative to.
enum class NoiseScope {
  kElement,  // the element itself, as for floating-point types: y + y * r
  kTensor,   // the tensor's largest magnitude, as for quantised ones: y + max|y| * r
};

// Half the distance between neighbours, relative to the value, at worst: the largest relative error
// that rounding to the type makes. Shifts of it stand in for computing in that type where the copy
// itself computes in a finer one.
inline constexpr double kFloat16Unit = 0x1p-11;
inline constexpr double kBFloat16Unit = 0x1p-8;
inline constexpr double kFloat8Unit = 0x1p-4;  // E4M3
// Half a step of a symmetric 8-bit quantiser, relative to the largest magnitude; for kTensor.
inline constexpr double kInt8Unit = 1.0 / 254;
// fp32 in a copy that computes in fp32 needs twice the half unit, since a shift below half a unit
// in the last place rounds away. An element moves by 0, 1 or (in the upper half of a binade) 2
// units in the last place, on average by 0.5 (at a power of two) to 1.
inline constexpr double kFloat32Unit = 0x1p-23;

struct RoundingNoise {
  // Largest shift, relative as `scope` says; 0..1. r is uniform in [-unit, unit). 0 writes the
  // same copy without a shift: it computes what the model computes, bit by bit, unless the runtime
  // fuses operators of the model that it now finds apart.
  double unit = kFloat32Unit;
  std::uint64_t seed = 1;
  NoiseScope scope = NoiseScope::kElement;
  // Also moves, once and in the file, the floating-point weights of convolutions, matrix products,
  // recurrent layers and table look-ups; with kElement their biases too. (Quantised models keep
  // biases in 32 bits.)
  bool weights = false;
};

struct RoundingCopy {
  std::int64_t moved = 0;    // operators' outputs that the copy moves
  std::int64_t untyped = 0;  // outputs left alone because nothing tells their type
  std::int64_t weights = 0;  // weights moved
};

// Writes a copy of the ONNX file `model` to `to`, in which each floating-point output of each
// operator is moved; names, inputs and outputs stay, external data comes into the file.
//
// Left alone: outputs of operators that cannot round (Reshape, Relu, MaxPool, Gather ...); of those
// that don't depend on the values of the model's inputs (shape arithmetic, folded constants); zeros
// with kElement; values that are not finite or so large that a shift could overflow (fp32 from
// 2^100 on: masks), which do not count for max|y| either. If, Loop and Scan are entered; model
// functions are one operator each. max|y| is over the whole tensor, batch included. Inputs of the
// model are the caller's to move.
//
// The noise is RandomUniformLike with a seed for each operator. ONNX Runtime starts its sequence
// when a session is made and goes on from call to call: the same seed gives the same outputs for
// the same calls in the same order, in a new session. Rounding that the copy's own type adds
// (fp16, bf16: after a shift in fp32) comes on top.
//
//   kInvalidArgument    unit is not in 0..1
//   kUnimplemented      opset of ai.onnx older than 9
//   kResourceExhausted  the copy would be larger than 2 GiB
//   otherwise as read_model
Result<RoundingCopy> write_with_rounding_noise(const std::filesystem::path& model,
                                               const std::filesystem::path& to,
                                               const RoundingNoise& noise);

}  // namespace assay
