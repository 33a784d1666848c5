// Headers of array files, and lines of text data. The first byte chooses the reader.
#include <string>
#include <string_view>

#include "dataset/array_file.h"
#include "dataset/text_line.h"
#include "fuzz.h"

namespace {

using assay::dataset::ArrayHeader;

void check_header(const assay::Result<ArrayHeader>& header) {
  if (!header.ok()) return;
  for (const std::int64_t side : header->shape) FUZZ_CHECK(side >= 0);
  FUZZ_CHECK(assay::is_dtype(static_cast<std::uint32_t>(header->dtype)));
}

void check_line(std::string_view text) {
  const auto line = assay::dataset::parse_text_line(text);
  if (!line.ok()) return;
  FUZZ_CHECK(line->text.size() < text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto stream = assay::dataset::open_memory("input", bytes);
  switch (data[0] % 3) {
    case 0:
      check_header(assay::dataset::read_idx_header(*stream));
      break;
    case 1:
      check_header(assay::dataset::read_npy_header(*stream));
      break;
    default:
      check_line(bytes);
  }
  return 0;
}
