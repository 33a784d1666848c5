#include "worker/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

namespace assay::worker {
namespace {

constexpr std::uint64_t kMostTableBytes = std::uint64_t{128} << 20;

// `count` values of T at `offset`; fewer bytes than that in the file are none.
template <typename T>
std::optional<std::vector<T>> read_at(std::ifstream& file, std::uint64_t offset,
                                      std::uint64_t count) {
  if (count > kMostTableBytes / sizeof(T)) return std::nullopt;
  std::vector<T> values(count);
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(count * sizeof(T)));
  if (!file) return std::nullopt;
  return values;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

// The fuller table when there is one: a stripped library has only that of what it exports.
const Elf64_Shdr* symbol_table(const std::vector<Elf64_Shdr>& sections) {
  for (const Elf64_Word wanted : {Elf64_Word{SHT_SYMTAB}, Elf64_Word{SHT_DYNSYM}}) {
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type == wanted && section.sh_link < sections.size()) return &section;
    }
  }
  return nullptr;
}

std::string name_at(const std::vector<char>& names, std::uint64_t offset) {
  if (offset >= names.size()) return "";
  const auto begin = names.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, std::find(begin, names.end(), '\0')};
}

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + 2, end, value, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

std::vector<Symbols::Function> Symbols::read(const std::string& path) {
  std::vector<Function> functions;
  std::ifstream file(path, std::ios::binary);
  const auto header = read_at<Elf64_Ehdr>(file, 0, 1);
  if (!header || std::memcmp(header->front().e_ident, ELFMAG, SELFMAG) != 0) return functions;
  if (header->front().e_ident[EI_CLASS] != ELFCLASS64) return functions;
  const auto sections = read_at<Elf64_Shdr>(file, header->front().e_shoff, header->front().e_shnum);
  const Elf64_Shdr* const table = sections ? symbol_table(*sections) : nullptr;
  if (table == nullptr) return functions;
  const Elf64_Shdr& strings = (*sections)[table->sh_link];
  const auto symbols =
      read_at<Elf64_Sym>(file, table->sh_offset, table->sh_size / sizeof(Elf64_Sym));
  const auto names = read_at<char>(file, strings.sh_offset, strings.sh_size);
  if (!symbols || !names) return functions;
  for (const Elf64_Sym& symbol : *symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0) continue;
    functions.push_back({symbol.st_value, symbol.st_size, name_at(*names, symbol.st_name)});
  }
  std::ranges::sort(functions, {}, &Function::begin);
  return functions;
}

std::string Symbols::function_at(const std::string& file, std::uint64_t address) {
  const auto [entry, added] = files_.try_emplace(file);
  if (added) entry->second = read(file);
  const std::vector<Function>& functions = entry->second;
  const auto after = std::ranges::upper_bound(functions, address, {}, &Function::begin);
  if (after == functions.begin()) return "";
  const Function& found = *std::prev(after);
  return address - found.begin < std::max<std::uint64_t>(found.size, 1) ? demangled(found.name)
                                                                        : "";
}

std::string Symbols::frame_in_words(std::string_view line) {
  std::size_t close = line.rfind(")[0x");
  if (close == std::string_view::npos) close = line.rfind(") [0x");
  const std::size_t open = close == std::string_view::npos ? close : line.rfind('(', close);
  if (open == std::string_view::npos) return std::string(line);
  const std::string file(line.substr(0, open));
  const std::string_view inside = line.substr(open + 1, close - open - 1);
  const std::size_t plus = inside.rfind('+');
  if (plus == std::string_view::npos) return std::string(line);
  std::string function(inside.substr(0, plus));
  const std::optional<std::uint64_t> offset = hexadecimal(inside.substr(plus + 1));
  const std::string name = std::filesystem::path(file).filename().string();
  if (!function.empty()) return fmt::format("{} ({})", demangled(function), name);
  // The address is that of the return, which may be the first byte of the next function.
  if (offset && *offset > 0) function = function_at(file, *offset - 1);
  return function.empty() ? fmt::format("{} ({})", inside, name)
                          : fmt::format("{} ({})", function, name);
}

}  // namespace assay::worker
