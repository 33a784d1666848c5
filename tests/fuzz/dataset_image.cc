// Image files: whatever the bytes, an error or a whole image.
#include <string_view>

#include "dataset/image.h"
#include "dataset/resample.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using assay::dataset::Filter;
  using assay::dataset::Image;
  const auto image = assay::dataset::decode_rgb({reinterpret_cast<const char*>(data), size});
  if (!image.ok()) return 0;
  const auto pixels = static_cast<std::size_t>(image->size.height * image->size.width);
  FUZZ_CHECK(image->channels == 3);
  FUZZ_CHECK(image->pixels.size() == pixels * 3);
  const assay::Result<Image> small = resize(*image, {7, 5}, Filter::kBicubic);
  if (small.ok()) FUZZ_CHECK(small->pixels.size() == std::size_t{7} * 5 * 3);
  return 0;
}
