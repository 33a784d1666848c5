#include "dataset/jpeg.h"

#include <fmt/format.h>
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE

namespace assay::dataset {
namespace {

// More scans than any encoder writes: a small file with thousands would decode for minutes.
constexpr int kMaxScans = 500;

// The library's error hooks. Everything it would print ends in `message`; an error, or a warning
// that means missing pixels, jumps back into decode().
struct ErrorState {
  jpeg_error_mgr hooks;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

ErrorState& state_of(j_common_ptr info) { return *reinterpret_cast<ErrorState*>(info->err); }

[[noreturn]] void on_error(j_common_ptr info) {
  ErrorState& state = state_of(info);
  info->err->format_message(info, state.message);
  std::longjmp(state.jump, 1);
}

// Warnings about decoration between segments leave every pixel in place.
bool is_harmless(int code) {
  return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
         code == JWRN_BOGUS_PROGRESSION;
}

void on_message(j_common_ptr info, int level) {
  const bool is_warning = level < 0;
  if (is_warning && !is_harmless(info->err->msg_code)) on_error(info);
}

void on_output(j_common_ptr) {}

void on_progress(j_common_ptr info) {
  const int scan = reinterpret_cast<j_decompress_ptr>(info)->input_scan_number;
  if (scan > kMaxScans) {
    std::snprintf(state_of(info).message, JMSG_LENGTH_MAX, "more than %d scans", kMaxScans);
    std::longjmp(state_of(info).jump, 1);
  }
}

J_COLOR_SPACE output_space(J_COLOR_SPACE stored) {
  switch (stored) {
    case JCS_GRAYSCALE:
      return JCS_GRAYSCALE;
    case JCS_CMYK:
    case JCS_YCCK:
      return JCS_CMYK;
    default:
      return JCS_RGB;
  }
}

// Owns the decompressor. Between setjmp and longjmp there are only trivially destructible locals;
// what owns memory lives in the object.
class Decompressor {
 public:
  Decompressor() {
    info_.err = jpeg_std_error(&errors_.hooks);
    errors_.hooks.error_exit = on_error;
    errors_.hooks.emit_message = on_message;
    errors_.hooks.output_message = on_output;
    progress_.progress_monitor = on_progress;
  }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor() { jpeg_destroy_decompress(&info_); }

  Result<Image> decode(std::string_view bytes) {
    if (!read_header(bytes)) return failure();
    const ImageSize size{info_.image_height, info_.image_width};
    const int channels = info_.out_color_components;
    ASSIGN_OR_RETURN(image_, make_image(size, channels));
    if (!read_rows()) return failure();
    return std::move(image_);
  }

 private:
  Status failure() const {
    return data_loss(fmt::format("corrupt or truncated JPEG: {}", errors_.message));
  }

  bool read_header(std::string_view bytes) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = output_space(info_.jpeg_color_space);
    jpeg_calc_output_dimensions(&info_);
    return true;
  }

  bool read_rows() {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      const std::size_t row_bytes =
          std::size_t{info_.output_width} * static_cast<std::size_t>(info_.output_components);
      JSAMPROW row = image_.pixels.data() + info_.output_scanline * row_bytes;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  ErrorState errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
  Image image_;
};

// a * b / 255 rounded, for a and b in 0..255.
std::uint8_t scaled(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t product = a * b + 128;
  return static_cast<std::uint8_t>((product + (product >> 8)) >> 8);
}

// JPEG files hold inverted CMYK, as Adobe's programs write it: 255 is no ink.
Image cmyk_to_rgb(const Image& inverted) {
  Image rgb{inverted.size, 3, {}};
  rgb.pixels.reserve(inverted.pixels.size() / 4 * 3);
  for (std::size_t i = 0; i < inverted.pixels.size(); i += 4) {
    const std::uint8_t white = inverted.pixels[i + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t ink = 255U - inverted.pixels[i + c];
      rgb.pixels.push_back(static_cast<std::uint8_t>(white - scaled(ink, white)));
    }
  }
  return rgb;
}

}  // namespace

Result<Image> decode_jpeg(std::string_view bytes) {
  Decompressor decompressor;
  ASSIGN_OR_RETURN(Image image, decompressor.decode(bytes));
  if (image.channels == 1) return gray_to_rgb(image);
  if (image.channels == 4) return cmyk_to_rgb(image);
  return image;
}

}  // namespace assay::dataset
