#include "worker/log_tail.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/utf8.h"

namespace assay::worker {

std::string log_tail(const std::filesystem::path& log, std::size_t most_bytes) {
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0));
  // One byte more, which shows whether a line ended just before.
  const bool cut = size > most_bytes;
  file.seekg(static_cast<std::streamoff>(cut ? size - most_bytes - 1 : 0));
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  if (cut && !text.empty()) {
    const std::size_t line_end = text.find('\n');
    const auto begin = line_end != std::string::npos
                           ? text.begin() + static_cast<std::ptrdiff_t>(line_end) + 1
                           : std::find_if(text.begin() + 1, text.end(), starts_character);
    text.erase(text.begin(), begin);
  }
  return valid_utf8(text);
}

}  // namespace assay::worker
