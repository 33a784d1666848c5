#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dataset/random_file.h"

namespace assay::dataset {

// "<label><tab><text>" in parts; `text` points into the line.
struct TextLine {
  std::int64_t label = 0;
  std::string_view text;
};

// kDataLoss when there is no whole number before the first tab.
Result<TextLine> parse_text_line(std::string_view line);

// "line-00042" for index 41: the number that an editor shows.
std::string line_id(std::size_t index);

// The lines of a text file, found once and then read at random. Memory: 8 bytes a line.
class LineIndex {
 public:
  // The last line may lack its newline. kResourceExhausted for a line longer than 1 MiB.
  static Result<LineIndex> open(const std::filesystem::path& path);

  std::size_t size() const { return ends_.size(); }
  const std::string& name() const { return name_; }  // the quoted path

  // Line `index` without its newline (and carriage return). Thread-safe.
  Result<std::string> read(std::size_t index) const;

 private:
  LineIndex(RandomFile file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  RandomFile file_;
  std::string name_;
  std::vector<std::uint64_t> ends_;  // offset of each line's end, newline excluded
};

}  // namespace assay::dataset
