#include "dataset/text_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "base/file.h"

namespace assay::dataset {
namespace {

constexpr std::uint64_t kMaxLineBytes = 1 << 20;
constexpr std::size_t kChunkBytes = 1 << 16;

}  // namespace

Result<TextLine> parse_text_line(std::string_view line) {
  const std::size_t tab = line.find('\t');
  TextLine parts;
  const char* const end = line.data() + (tab == std::string_view::npos ? 0 : tab);
  const auto [last, error] = std::from_chars(line.data(), end, parts.label);
  if (error != std::errc() || last != end) {
    return data_loss("a line is not \"<label><tab><text>\" with a whole number as label");
  }
  parts.text = line.substr(tab + 1);
  return parts;
}

std::string line_id(std::size_t index) { return fmt::format("line-{:05}", index + 1); }

Result<LineIndex> LineIndex::open(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(RandomFile file, RandomFile::open(path));
  const std::uint64_t size = file.size_bytes();
  LineIndex index(std::move(file), quoted(path));
  std::string chunk;
  std::uint64_t start = 0;  // of the line that is being looked at
  for (std::uint64_t offset = 0; offset < size; offset += chunk.size()) {
    chunk.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size - offset, kChunkBytes)));
    RETURN_IF_ERROR(index.file_.read_at(offset, std::as_writable_bytes(std::span(chunk))));
    for (std::size_t i = 0; (i = chunk.find('\n', i)) != std::string::npos; ++i) {
      index.ends_.push_back(offset + i);
      start = offset + i + 1;
    }
    if (offset + chunk.size() - start > kMaxLineBytes) {
      return resource_exhausted(fmt::format("{}: line {} is longer than {} bytes", index.name_,
                                            index.size() + 1, kMaxLineBytes));
    }
  }
  if (start < size) index.ends_.push_back(size);
  return index;
}

Result<std::string> LineIndex::read(std::size_t index) const {
  const std::uint64_t start = index == 0 ? 0 : ends_[index - 1] + 1;
  std::string line(static_cast<std::size_t>(ends_[index] - start), '\0');
  RETURN_IF_ERROR(file_.read_at(start, std::as_writable_bytes(std::span(line))));
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace assay::dataset
