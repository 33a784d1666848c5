#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dataset/image.h"

namespace assay::dataset {

// Resampling filters with the support and formulas that Pillow documents. Bicubic is Keys' kernel
// with a = -0.5, Lanczos has three lobes.
enum class Filter : std::uint8_t { kNearest, kBox, kBilinear, kHamming, kBicubic, kLanczos };

// "nearest", "box", "bilinear", "hamming", "bicubic", "lanczos".
std::string_view name_of(Filter filter);
std::optional<Filter> parse_filter(std::string_view name);

// `image` scaled to `size`, bit for bit as Image.resize of Pillow 13 for 8-bit images: when
// shrinking the filter's support is widened by the scale (antialiasing); one pass over columns and
// one over rows, each in fixed point with 22 fractional bits, rounded and clamped to 8 bits.
// kInvalidArgument unless both sides of `size` are at least 1 and the result is within
// kMaxImageBytes. Thread-safe.
Result<Image> resize(const Image& image, ImageSize size, Filter filter);

// The middle `size` of the image; of an odd remainder the smaller half is left and above.
// kInvalidArgument when the image is smaller than `size`.
Result<Image> center_crop(const Image& image, ImageSize size);

}  // namespace assay::dataset
