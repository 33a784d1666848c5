#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::dataset {

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;

  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// "640x480": width first, as image programs write it.
std::string to_string(ImageSize size);

// 8-bit pixels, rows from the top, channels interleaved: [height, width, channels].
struct Image {
  ImageSize size;
  std::int64_t channels = 0;  // 1: grey, 3: red green blue
  std::vector<std::uint8_t> pixels;
};

// The most bytes of pixels that are decoded or made; a header that claims more is refused.
inline constexpr std::int64_t kMaxImageBytes = std::int64_t{1} << 28;

// Decodes a JPEG or PNG file's bytes to red, green, blue, as Pillow's Image.open(f).convert("RGB")
// does: grey is repeated, a palette looked up, alpha dropped, of 16 bits the upper 8 kept, CMYK
// converted without a colour profile; EXIF orientation is not applied. (One difference: Pillow
// clips 16-bit grey at 255, which makes nearly all of it white.) kDataLoss for corrupt or truncated
// bytes, kUnimplemented for another format; never a partial image. Thread-safe.
Result<Image> decode_rgb(std::string_view bytes);

// kResourceExhausted unless the image has at least one byte and at most kMaxImageBytes.
Status check_image_size(ImageSize size, std::int64_t channels);

// A black image of that size; errors as check_image_size.
Result<Image> make_image(ImageSize size, std::int64_t channels);

// Luma by ITU-R BT.601 in 16-bit fixed point, as Pillow's convert("L").
Image to_gray(const Image& rgb);

// Grey repeated in three channels.
Image gray_to_rgb(const Image& gray);

}  // namespace assay::dataset
