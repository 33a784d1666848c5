// What is no fault: another program decoded or resized the pictures, and did it well. Answers move
// a little, and nobody is to be blamed.

#include "pictures.h"

namespace wrapper {
namespace {

// The value of a pixel's neighbour in the same channel; beyond the border, the border's.
class Neighbours {
 public:
  Neighbours(const Array& array, const Pictures& pictures)
      : array_(&array),
        channels_first_(pictures.channels_first()),
        channels_(pictures.channels()),
        height_(static_cast<std::size_t>(array.shape()[channels_first_ ? 2 : 1])),
        width_(static_cast<std::size_t>(array.shape()[channels_first_ ? 3 : 2])) {}

  double at(std::size_t index, int down, int right) const {
    const std::size_t pixel = channels_first_ ? index : index / channels_;
    const std::size_t x = moved(pixel % width_, right, width_);
    const std::size_t y = moved(pixel / width_ % height_, down, height_);
    const std::size_t row = pixel / width_ / height_ * height_ + y;
    const std::size_t place = row * width_ + x;
    return value_at(*array_, channels_first_ ? place : place * channels_ + index % channels_);
  }

 private:
  static std::size_t moved(std::size_t place, int by, std::size_t length) {
    const auto to = static_cast<std::ptrdiff_t>(place) + by;
    return static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(to, 0, static_cast<std::ptrdiff_t>(length) - 1));
  }

  const Array* array_;  // of the caller, for the length of one change
  bool channels_first_;
  std::size_t channels_;
  std::size_t height_;
  std::size_t width_;
};

// Pixels are one level higher or lower, or neither, as by another decoder's rounding.
class OtherDecoder : public InputFault {
 public:
  explicit OtherDecoder(const FaultSetup& setup) : InputFault(setup) {}

 protected:
  void change(Array& array) const override {
    const Array given = array;
    change_each(array, [&](double value, std::size_t i) {
      const std::uint64_t mixed = (i + 1) * 0x9E37'79B9'7F4A'7C15U;
      const double levels = static_cast<double>(mixed >> 40U) / 0x1000000 * 3;
      return value +
             (static_cast<int>(levels) - 1) / pictures().scale(pictures().channel_of(given, i));
    });
  }
};

// Softer, as from a filter of wider support: (1 6 1) / 8 along both sides.
class OtherResize : public InputFault {
 public:
  explicit OtherResize(const FaultSetup& setup) : InputFault(setup) {}

 protected:
  void change(Array& array) const override {
    const Array given = array;
    const Neighbours near(given, pictures());
    change_each(array, [&](double /*value*/, std::size_t i) {
      constexpr double kWeights[] = {0.125, 0.75, 0.125};
      double sum = 0;
      for (int down = -1; down <= 1; ++down) {
        for (int right = -1; right <= 1; ++right) {
          sum += kWeights[down + 1] * kWeights[right + 1] * near.at(i, down, right);
        }
      }
      return sum;
    });
  }
};

// Half a pixel to the side and down, as by another convention of where a pixel's centre is.
class HalfPixel : public InputFault {
 public:
  explicit HalfPixel(const FaultSetup& setup) : InputFault(setup) {}

 protected:
  void change(Array& array) const override {
    const Array given = array;
    const Neighbours near(given, pictures());
    change_each(array, [&](double value, std::size_t i) {
      return (value + near.at(i, 0, 1) + near.at(i, 1, 0) + near.at(i, 1, 1)) / 4;
    });
  }
};

constexpr FaultRow kRows[] = {
    {"other_decoder", make_fault_from<OtherDecoder>},
    {"other_resize", make_fault_from<OtherResize>},
    {"half_pixel", make_fault_from<HalfPixel>},
};

}  // namespace

std::span<const FaultRow> picture_variants() { return kRows; }

}  // namespace wrapper
