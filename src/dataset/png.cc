#include "dataset/png.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <utility>

namespace assay::dataset {
namespace {

// Owns the reader. Between setjmp and longjmp there are only trivially destructible locals; what
// owns memory lives in the object.
class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Result<Image> decode() {
    if (info_ == nullptr) return resource_exhausted("no memory for the PNG decoder");
    if (!read_header()) return failure();
    const ImageSize size{png_get_image_height(png_, info_), png_get_image_width(png_, info_)};
    ASSIGN_OR_RETURN(image_, make_image(size, 3));
    rows_.resize(static_cast<std::size_t>(size.height));
    for (std::size_t y = 0; y < rows_.size(); ++y) {
      rows_[y] = image_.pixels.data() + y * static_cast<std::size_t>(size.width) * 3;
    }
    if (!read_rows()) return failure();
    return std::move(image_);
  }

 private:
  static PngReader& reader_of(void* pointer) { return *static_cast<PngReader*>(pointer); }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    PngReader& reader = reader_of(png_get_error_ptr(png));
    std::strncpy(reader.message_, message, sizeof(reader.message_) - 1);
    std::longjmp(reader.jump_, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}

  static void on_read(png_structp png, png_bytep into, std::size_t count) {
    std::string_view& rest = reader_of(png_get_io_ptr(png)).rest_;
    if (rest.size() < count) png_error(png, "the file ends early");
    std::memcpy(into, rest.data(), count);
    rest.remove_prefix(count);
  }

  Status failure() const {
    return data_loss(fmt::format("corrupt or truncated PNG: {}", message_));
  }

  bool read_header() {
    if (setjmp(jump_) != 0) return false;
    png_set_read_fn(png_, this, on_read);
    png_set_user_limits(png_, kMaxImageBytes / 3, kMaxImageBytes / 3);
    png_read_info(png_, info_);
    png_set_palette_to_rgb(png_);
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY) {
      png_set_expand_gray_1_2_4_to_8(png_);
    }
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != std::size_t{png_get_image_width(png_, info_)} * 3) {
      png_error(png_, "a row is not three bytes a pixel");
    }
    return true;
  }

  bool read_rows() {
    if (setjmp(jump_) != 0) return false;
    png_read_image(png_, rows_.data());
    png_read_end(png_, nullptr);
    return true;
  }

  std::string_view rest_;
  std::jmp_buf jump_{};
  char message_[128] = "";
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  Image image_;
  std::vector<png_bytep> rows_;
};

}  // namespace

Result<Image> decode_png(std::string_view bytes) {
  PngReader reader(bytes);
  return reader.decode();
}

}  // namespace assay::dataset
