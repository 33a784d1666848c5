#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay::worker {

// Names of functions in shared libraries and programs, from their symbol tables; those that are not
// exported too. Keeps what it has read. One thread at a time.
class Symbols {
 public:
  // The function that holds the byte at `address` of the file's own address space, demangled; ""
  // for one that is not known, or a file that is none.
  std::string function_at(const std::string& file, std::uint64_t address);

  // A line as backtrace_symbols_fd writes it, "path(function+0x12)[0x7f...]" or
  // "path(+0x1234)[0x7f...]", as "function (file)"; any other line as it is.
  std::string frame_in_words(std::string_view line);

 private:
  struct Function {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::string name;
  };
  static std::vector<Function> read(const std::string& file);

  std::map<std::string, std::vector<Function>> files_;  // sorted by begin
};

}  // namespace assay::worker
