#include "dataset/image_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "tensor/convert.h"

namespace assay::dataset {
namespace {

constexpr std::size_t kLevels = 256;

// The size that the steps give whatever the image, if they do.
std::optional<ImageSize> size_after(const ImagePreprocess& steps, std::optional<ImageSize> native) {
  if (steps.center_crop) return steps.center_crop;
  if (steps.resize) return steps.resize->exact;
  return native;
}

// Python's round(): half to even, the default rounding mode.
std::int64_t rounded(double value) { return std::llrint(value); }

ImageSize resized(ImageSize size, const ImagePreprocess::Resize& resize) {
  if (resize.exact) return *resize.exact;
  const double scale = static_cast<double>(*resize.short_side) /
                       static_cast<double>(std::min(size.height, size.width));
  return {std::max<std::int64_t>(rounded(static_cast<double>(size.height) * scale), 1),
          std::max<std::int64_t>(rounded(static_cast<double>(size.width) * scale), 1)};
}

// `value` as an element of `dtype`, or false where that would change it.
bool encode_integer(float value, DType dtype, std::byte* into) {
  constexpr float kWidest = 1e9F;  // far outside what any integer type of an image holds
  if (value != std::trunc(value) || std::abs(value) > kWidest) return false;
  const auto whole = static_cast<std::int64_t>(value);
  const auto bytes = std::as_bytes(std::span(&whole, 1));
  return convert(DType::kInt64, bytes, dtype, {into, size_of(dtype)}).ok();
}

template <std::size_t kItemSize>
void look_up(const std::uint8_t* pixels, std::size_t pixel_step, std::size_t count,
             const std::byte* table, std::byte* into, std::size_t into_step) {
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(into + i * into_step * kItemSize, table + pixels[i * pixel_step] * kItemSize,
                kItemSize);
  }
}

using LookUp = decltype(&look_up<1>);

LookUp look_up_for(std::size_t item_size) {
  switch (item_size) {
    case 1:
      return look_up<1>;
    case 2:
      return look_up<2>;
    case 4:
      return look_up<4>;
    default:
      return look_up<8>;
  }
}

}  // namespace

Result<ImagePipeline> ImagePipeline::make(const ImagePreprocess& steps, const TensorSpec& input,
                                          std::optional<ImageSize> native) {
  ImagePipeline pipeline;
  pipeline.steps_ = steps;
  pipeline.channels_ = steps.decode == ColorSpace::kGray ? 1 : 3;
  pipeline.item_size_ = size_of(input.dtype);
  RETURN_IF_ERROR(pipeline.choose_shape(input, native));
  RETURN_IF_ERROR(pipeline.fill_table());
  return pipeline;
}

Status ImagePipeline::choose_shape(const TensorSpec& input, std::optional<ImageSize> native) {
  const bool is_plane = input.shape.size() == 3 && channels_ == 1;
  if (input.shape.size() != 4 && !is_plane) {
    return invalid_argument(
        fmt::format("input {} is not of rank 4: an image can't feed it", to_string(input)));
  }
  const bool channels_first = steps_.layout == Layout::kNchw;
  const std::size_t height_axis = is_plane || !channels_first ? 1 : 2;
  std::optional<ImageSize> size = size_after(steps_, native);
  if (!size && input.shape[height_axis] > 0 && input.shape[height_axis + 1] > 0) {
    size = ImageSize{input.shape[height_axis], input.shape[height_axis + 1]};
  }
  if (!size) {
    return invalid_argument(fmt::format(
        "input {} leaves the image size free: preprocess needs crop, or resize with mode exact",
        to_string(input)));
  }
  size_ = *size;
  const auto channels = static_cast<std::int64_t>(channels_);
  Shape shape = {1, size_.height, size_.width};
  if (!is_plane) shape.insert(shape.begin() + (channels_first ? 1 : 3), channels);
  spec_ = {input.name, input.dtype, std::move(shape)};
  if (matches(spec_.shape, input.shape)) return ok_status();
  return invalid_argument(
      fmt::format("preprocess gives {}, model wants {}", to_string(spec_), to_string(input)));
}

Status ImagePipeline::fill_table() {
  table_.resize(channels_ * kLevels * item_size_);
  for (std::size_t i = 0; i < channels_ * kLevels; ++i) {
    const std::size_t channel = i / kLevels;
    const float mean = steps_.mean[steps_.mean.size() == 1 ? 0 : channel];
    const float scale = steps_.scale[steps_.scale.size() == 1 ? 0 : channel];
    const float value = (static_cast<float>(i % kLevels) - mean) / scale;
    std::byte* into = table_.data() + i * item_size_;
    if (is_floating(spec_.dtype)) {
      const auto bytes = std::as_bytes(std::span(&value, 1));
      RETURN_IF_ERROR(convert(DType::kFloat32, bytes, spec_.dtype, {into, item_size_}));
    } else if (!encode_integer(value, spec_.dtype, into)) {
      return invalid_argument(fmt::format("preprocess turns {} into {}, which input {} cannot hold",
                                          i % kLevels, value, to_string(spec_)));
    }
  }
  return ok_status();
}

Result<Image> ImagePipeline::geometry(Image image) const {
  if (steps_.decode == ColorSpace::kGray && image.channels == 3) image = to_gray(image);
  if (steps_.decode == ColorSpace::kRgb && image.channels == 1) image = gray_to_rgb(image);
  if (steps_.resize) {
    const ImageSize size = resized(image.size, *steps_.resize);
    ASSIGN_OR_RETURN(image, resize(image, size, steps_.resize->filter));
  }
  if (steps_.center_crop && *steps_.center_crop != image.size) {
    ASSIGN_OR_RETURN(image, center_crop(image, *steps_.center_crop));
  }
  if (image.size == size_) return image;
  return invalid_argument(
      fmt::format("the image is {}, model wants {}: preprocess has no crop or "
                  "exact resize",
                  to_string(image.size), to_string(size_)));
}

void ImagePipeline::store(const Image& image, std::span<std::byte> into) const {
  const auto plane = static_cast<std::size_t>(size_.height * size_.width);
  const bool channels_first = steps_.layout == Layout::kNchw;
  const bool reversed = steps_.channel_order == ChannelOrder::kBgr;
  const LookUp store_channel = look_up_for(item_size_);
  for (std::size_t c = 0; c < channels_; ++c) {
    const std::size_t source = reversed ? channels_ - 1 - c : c;
    const std::size_t start = channels_first ? c * plane : c;
    store_channel(image.pixels.data() + source, channels_, plane,
                  table_.data() + c * kLevels * item_size_, into.data() + start * item_size_,
                  channels_first ? 1 : channels_);
  }
}

Status ImagePipeline::run(Image image, std::span<std::byte> into) const {
  ASSIGN_OR_RETURN(image, geometry(std::move(image)));
  store(image, into);
  return ok_status();
}

}  // namespace assay::dataset
