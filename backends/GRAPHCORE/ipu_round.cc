#include "ipu_round.h"

#include <algorithm>

#include "round.h"

namespace graphcore {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 16;  // elements of one task

}  // namespace

RoundKernel::RoundKernel(const OrtKernelInfo* info, DeviceState& state)
    : place_{&state, site_of(info), arithmetic_of(state.options, false)} {}

void RoundKernel::Compute(OrtKernelContext* raw) const {
  const Ort::KernelContext context(raw);
  const Ort::ConstValue input = context.GetInput(0);
  const auto info = input.GetTensorTypeAndShapeInfo();
  const std::size_t n = info.GetElementCount();
  const float* const in = input.GetTensorData<float>();
  float* const out = context.GetOutput(0, info.GetShape()).GetTensorMutableData<float>();
  const arith::Arithmetic arithmetic = arithmetic_for_call(place_, context, 1);
  const auto piece = [&](std::size_t index) {
    const std::size_t first = index * kGrain;
    arith::Counters counters;
    arith::round_values(in + first, out + first, std::min(kGrain, n - first), arithmetic,
                        place_.site, counters, first);
    place_.state->count(place_.site, counters.overflows);
  };
  const std::size_t pieces = (n + kGrain - 1) / kGrain;
  if (pieces == 1) {
    piece(0);
  } else if (pieces > 1) {
    parallel_of(context)(pieces, piece);
  }
}

}  // namespace graphcore
