#include "dataset/image.h"

#include <fmt/format.h>

#include <cstddef>

#include "dataset/jpeg.h"
#include "dataset/png.h"

namespace assay::dataset {
namespace {

constexpr std::string_view kJpegMagic = "\xFF\xD8\xFF";
constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1A\n";

}  // namespace

std::string to_string(ImageSize size) { return fmt::format("{}x{}", size.width, size.height); }

Status check_image_size(ImageSize size, std::int64_t channels) {
  const bool positive = size.height > 0 && size.width > 0 && channels > 0;
  if (positive && size.height <= kMaxImageBytes / channels / size.width) return ok_status();
  return resource_exhausted(
      fmt::format("an image of {} with {} channels is not between 1 and {} bytes", to_string(size),
                  channels, kMaxImageBytes));
}

Result<Image> make_image(ImageSize size, std::int64_t channels) {
  RETURN_IF_ERROR(check_image_size(size, channels));
  Image image{size, channels, {}};
  image.pixels.resize(static_cast<std::size_t>(size.height * size.width * channels));
  return image;
}

Result<Image> decode_rgb(std::string_view bytes) {
  if (bytes.empty()) return data_loss("the image file is empty");
  if (bytes.starts_with(kJpegMagic)) return decode_jpeg(bytes);
  if (bytes.starts_with(kPngMagic)) return decode_png(bytes);
  return unimplemented("neither a JPEG nor a PNG file (by its first bytes)");
}

Image to_gray(const Image& rgb) {
  Image gray{rgb.size, 1, {}};
  gray.pixels.reserve(rgb.pixels.size() / 3);
  for (std::size_t i = 0; i + 2 < rgb.pixels.size(); i += 3) {
    // 0.299, 0.587 and 0.114 times 65536.
    const std::uint32_t luma =
        rgb.pixels[i] * 19595U + rgb.pixels[i + 1] * 38470U + rgb.pixels[i + 2] * 7471U + 0x8000U;
    gray.pixels.push_back(static_cast<std::uint8_t>(luma >> 16));
  }
  return gray;
}

Image gray_to_rgb(const Image& gray) {
  Image rgb{gray.size, 3, {}};
  rgb.pixels.reserve(gray.pixels.size() * 3);
  for (const std::uint8_t value : gray.pixels) rgb.pixels.insert(rgb.pixels.end(), 3, value);
  return rgb;
}

}  // namespace assay::dataset
