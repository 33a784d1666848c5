#include "ipu_conv.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace graphcore {
namespace {

// Zeros before and after, so that there is an output for every `stride` inputs.
std::pair<std::size_t, std::size_t> same_pads(std::size_t size, std::size_t kernel,
                                              std::size_t stride, std::size_t dilation,
                                              bool upper) {
  const std::size_t outputs = (size + stride - 1) / stride;
  const std::size_t needed = (outputs - 1) * stride + (kernel - 1) * dilation + 1;
  const std::size_t pads = needed > size ? needed - size : 0;
  const std::size_t less = pads / 2;
  return upper ? std::pair(less, pads - less) : std::pair(pads - less, less);
}

void set_pads(const ConvAttributes& attributes, arith::Conv2dShape& shape) {
  if (attributes.auto_pad == 0) {
    const auto pad = [&](std::size_t i) { return static_cast<std::size_t>(attributes.pads.at(i)); };
    shape.pad_top = pad(0);
    shape.pad_left = pad(1);
    shape.pad_bottom = pad(2);
    shape.pad_right = pad(3);
  } else if (attributes.auto_pad < 3) {
    const bool upper = attributes.auto_pad == 1;
    std::tie(shape.pad_top, shape.pad_bottom) =
        same_pads(shape.height, shape.kernel_y, shape.stride_y, shape.dilation_y, upper);
    std::tie(shape.pad_left, shape.pad_right) =
        same_pads(shape.width, shape.kernel_x, shape.stride_x, shape.dilation_x, upper);
  }
}

std::string text_of(const std::vector<std::int64_t>& dims) {
  std::string text = "[";
  for (const std::int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

}  // namespace

arith::Conv2dShape conv_shape(const ConvAttributes& attributes,
                              const std::vector<std::int64_t>& input,
                              const std::vector<std::int64_t>& weights) {
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  if (input.size() != 4 || weights.size() != 4) {
    throw std::invalid_argument("a convolution of " + text_of(input) + " by " + text_of(weights) +
                                ": both want four dimensions");
  }
  arith::Conv2dShape shape;
  shape.batch = size(input[0]);
  shape.channels = size(input[1]);
  shape.height = size(input[2]);
  shape.width = size(input[3]);
  shape.filters = size(weights[0]);
  shape.groups = size(attributes.group);
  shape.kernel_y = size(weights[2]);
  shape.kernel_x = size(weights[3]);
  shape.stride_y = size(attributes.strides.at(0));
  shape.stride_x = size(attributes.strides.at(1));
  shape.dilation_y = size(attributes.dilations.at(0));
  shape.dilation_x = size(attributes.dilations.at(1));
  set_pads(attributes, shape);
  const char* why = shape.batch == 0 ? nullptr : arith::objection(shape);
  if (why == nullptr && shape.group_channels() != size(weights[1])) {
    why = "the weights are for another number of channels";
  }
  if (why == nullptr) return shape;
  throw std::invalid_argument("a convolution of " + text_of(input) + " by " + text_of(weights) +
                              ": " + why);
}

ConvKernel::ConvKernel(const OrtKernelInfo* info, DeviceState& state)
    : place_{&state, site_of(info), arithmetic_of(state.options, state.options.half_partials())} {
  const Ort::ConstKernelInfo kernel(info);
  attributes_.strides = kernel.GetAttributes<std::int64_t>("strides");
  attributes_.dilations = kernel.GetAttributes<std::int64_t>("dilations");
  attributes_.pads = kernel.GetAttributes<std::int64_t>("pads");
  attributes_.auto_pad = kernel.GetAttribute<std::int64_t>("auto_pad");
  attributes_.group = kernel.GetAttribute<std::int64_t>("group");
}

void ConvKernel::Compute(OrtKernelContext* raw) const {
  const Ort::KernelContext context(raw);
  const Ort::ConstValue input = context.GetInput(0);
  const Ort::ConstValue weights = context.GetInput(1);
  const arith::Conv2dShape shape =
      conv_shape(attributes_, input.GetTensorTypeAndShapeInfo().GetShape(),
                 weights.GetTensorTypeAndShapeInfo().GetShape());
  const std::vector<std::int64_t> out_shape = {
      static_cast<std::int64_t>(shape.batch), static_cast<std::int64_t>(shape.filters),
      static_cast<std::int64_t>(shape.out_height()), static_cast<std::int64_t>(shape.out_width())};
  float* const out = context.GetOutput(0, out_shape).GetTensorMutableData<float>();
  if (shape.batch == 0) return;
  arith::Counters counters;
  arith::conv2d(shape, input.GetTensorData<float>(), weights.GetTensorData<float>(),
                optional_data<float>(context, 2), out, arithmetic_for_call(place_, context, 3),
                place_.site, counters, parallel_of(context));
  place_.state->count(place_.site, counters.overflows);
}

}  // namespace graphcore
