#include "dataset/resample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace assay::dataset {
namespace {

double sinc(double x) {
  if (x == 0.0) return 1.0;
  const double angle = x * std::numbers::pi;
  return std::sin(angle) / angle;
}

double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double bilinear(double x) {
  const double distance = std::abs(x);
  return distance < 1.0 ? 1.0 - distance : 0.0;
}

double hamming(double x) {
  const double distance = std::abs(x);
  if (distance >= 1.0) return 0.0;
  return sinc(distance) * (0.54 + 0.46 * std::cos(distance * std::numbers::pi));
}

// Keys, "Cubic convolution interpolation for digital image processing" (1981), a = -0.5.
double bicubic(double x) {
  constexpr double a = -0.5;
  const double d = std::abs(x);
  if (d < 1.0) return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
  if (d < 2.0) return (((d - 5.0) * d + 8.0) * d - 4.0) * a;
  return 0.0;
}

double lanczos(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0; }

struct FilterRow {
  std::string_view name;
  Filter filter;
  double support;  // the kernel is 0 beyond this distance, in source pixels at scale 1
  double (*kernel)(double);
};

constexpr std::array kFilters = {
    FilterRow{"nearest", Filter::kNearest, 0.0, nullptr},
    FilterRow{"box", Filter::kBox, 0.5, box},
    FilterRow{"bilinear", Filter::kBilinear, 1.0, bilinear},
    FilterRow{"hamming", Filter::kHamming, 1.0, hamming},
    FilterRow{"bicubic", Filter::kBicubic, 2.0, bicubic},
    FilterRow{"lanczos", Filter::kLanczos, 3.0, lanczos},
};

const FilterRow& row_of(Filter filter) { return kFilters[static_cast<std::size_t>(filter)]; }

// 32 bits less 8 of the value, less 2 because weights of a filter with negative lobes add up to
// more than 1 on the way.
constexpr int kFractionBits = 32 - 8 - 2;

std::int32_t to_fixed(double weight) {
  const double scaled = weight * (1 << kFractionBits);
  return static_cast<std::int32_t>(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
}

std::uint8_t to_pixel(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

// For each output position along one axis: the run of source positions that it blends.
struct Blend {
  struct Run {
    std::size_t first = 0;   // source position
    std::size_t count = 0;   // of weights
    std::size_t weight = 0;  // index of the first in `weights`
  };
  std::vector<Run> runs;
  std::vector<std::int32_t> weights;
};

Blend make_blend(std::int64_t from, std::int64_t to, const FilterRow& filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double widening = std::max(scale, 1.0);
  const double support = filter.support * widening;
  const double inverse = 1.0 / widening;
  Blend blend;
  blend.runs.reserve(static_cast<std::size_t>(to));
  std::vector<double> exact;
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(center - support + 0.5), 0);
    const auto last =
        std::min<std::int64_t>(static_cast<std::int64_t>(center + support + 0.5), from);
    exact.clear();
    double total = 0.0;
    for (std::int64_t x = first; x < last; ++x) {
      const double offset = static_cast<double>(x) - center + 0.5;
      exact.push_back(filter.kernel(offset * inverse));
      total += exact.back();
    }
    blend.runs.push_back({static_cast<std::size_t>(first), exact.size(), blend.weights.size()});
    for (const double weight : exact) {
      blend.weights.push_back(to_fixed(total == 0.0 ? weight : weight / total));
    }
  }
  return blend;
}

constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

template <std::size_t kChannels>
void blend_row(const std::uint8_t* source, const Blend& blend, std::uint8_t* target) {
  for (const Blend::Run& run : blend.runs) {
    std::array<std::int32_t, kChannels> sums;
    sums.fill(kHalf);
    const std::uint8_t* pixel = source + run.first * kChannels;
    const std::int32_t* weights = blend.weights.data() + run.weight;
    for (std::size_t k = 0; k < run.count; ++k) {
      for (std::size_t c = 0; c < kChannels; ++c) sums[c] += *pixel++ * weights[k];
    }
    for (const std::int32_t sum : sums) *target++ = to_pixel(sum);
  }
}

Result<Image> resize_columns(const Image& image, std::int64_t width, const FilterRow& filter) {
  ASSIGN_OR_RETURN(Image result, make_image({image.size.height, width}, image.channels));
  const Blend blend = make_blend(image.size.width, width, filter);
  const auto source_row = static_cast<std::size_t>(image.size.width * image.channels);
  const auto target_row = static_cast<std::size_t>(width * image.channels);
  for (std::size_t y = 0; y < static_cast<std::size_t>(image.size.height); ++y) {
    const std::uint8_t* source = image.pixels.data() + y * source_row;
    std::uint8_t* target = result.pixels.data() + y * target_row;
    if (image.channels == 3) {
      blend_row<3>(source, blend, target);
    } else {
      blend_row<1>(source, blend, target);
    }
  }
  return result;
}

Result<Image> resize_rows(const Image& image, std::int64_t height, const FilterRow& filter) {
  ASSIGN_OR_RETURN(Image result, make_image({height, image.size.width}, image.channels));
  const Blend blend = make_blend(image.size.height, height, filter);
  const auto row = static_cast<std::size_t>(image.size.width * image.channels);
  std::vector<std::int32_t> sums(row);
  std::uint8_t* target = result.pixels.data();
  for (const Blend::Run& run : blend.runs) {
    std::ranges::fill(sums, kHalf);
    for (std::size_t k = 0; k < run.count; ++k) {
      const std::uint8_t* source = image.pixels.data() + (run.first + k) * row;
      const std::int32_t weight = blend.weights[run.weight + k];
      for (std::size_t x = 0; x < row; ++x) sums[x] += source[x] * weight;
    }
    target = std::ranges::transform(sums, target, to_pixel).out;
  }
  return result;
}

// The order of the passes changes last bits. Pillow goes columns first but for images that lose
// much more height than width (since its version 13; before that, always).
bool is_rows_first(ImageSize from, ImageSize to) {
  return to.height < from.height && from.height - to.height > 2 * (from.width - to.width);
}

// The source position of each output position. The running sum, rather than a product, decides
// which neighbour a position exactly between two gets; Pillow sums.
std::vector<std::size_t> nearest_positions(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  std::vector<std::size_t> positions;
  positions.reserve(static_cast<std::size_t>(to));
  double position = scale * 0.5;
  for (std::int64_t i = 0; i < to; ++i, position += scale) {
    positions.push_back(
        static_cast<std::size_t>(std::min(static_cast<std::int64_t>(position), from - 1)));
  }
  return positions;
}

Result<Image> resize_nearest(const Image& image, ImageSize size) {
  ASSIGN_OR_RETURN(Image result, make_image(size, image.channels));
  const std::vector<std::size_t> columns = nearest_positions(image.size.width, size.width);
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t row = static_cast<std::size_t>(image.size.width) * channels;
  std::uint8_t* target = result.pixels.data();
  for (const std::size_t y : nearest_positions(image.size.height, size.height)) {
    for (const std::size_t x : columns) {
      const std::uint8_t* pixel = image.pixels.data() + y * row + x * channels;
      target = std::copy_n(pixel, channels, target);
    }
  }
  return result;
}

}  // namespace

std::string_view name_of(Filter filter) { return row_of(filter).name; }

std::optional<Filter> parse_filter(std::string_view name) {
  const auto* const row = std::ranges::find(kFilters, name, &FilterRow::name);
  if (row == kFilters.end()) return std::nullopt;
  return row->filter;
}

Result<Image> resize(const Image& image, ImageSize size, Filter filter) {
  if (size.height < 1 || size.width < 1) {
    return invalid_argument(fmt::format("cannot resize to {}", to_string(size)));
  }
  if (image.channels != 1 && image.channels != 3) {
    return invalid_argument(fmt::format("cannot resize {} channels", image.channels));
  }
  RETURN_IF_ERROR(check_image_size(size, image.channels));
  if (size == image.size) return image;
  if (filter == Filter::kNearest) return resize_nearest(image, size);
  const FilterRow& row = row_of(filter);
  if (size.width == image.size.width) return resize_rows(image, size.height, row);
  if (size.height == image.size.height) return resize_columns(image, size.width, row);
  if (is_rows_first(image.size, size)) {
    ASSIGN_OR_RETURN(const Image low, resize_rows(image, size.height, row));
    return resize_columns(low, size.width, row);
  }
  ASSIGN_OR_RETURN(const Image narrow, resize_columns(image, size.width, row));
  return resize_rows(narrow, size.height, row);
}

Result<Image> center_crop(const Image& image, ImageSize size) {
  if (size.height > image.size.height || size.width > image.size.width) {
    return invalid_argument(fmt::format("cannot crop {} out of an image of {}", to_string(size),
                                        to_string(image.size)));
  }
  ASSIGN_OR_RETURN(Image result, make_image(size, image.channels));
  const auto top = (image.size.height - size.height) / 2;
  const auto left = (image.size.width - size.width) / 2;
  const auto row = static_cast<std::size_t>(size.width * image.channels);
  for (std::int64_t y = 0; y < size.height; ++y) {
    const auto source = ((top + y) * image.size.width + left) * image.channels;
    std::copy_n(image.pixels.data() + source, row,
                result.pixels.data() + static_cast<std::size_t>(y) * row);
  }
  return result;
}

}  // namespace assay::dataset
