#include "workload/comma_list.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace assay::workload {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

std::vector<std::string> split_commas(std::string_view text) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view name = trimmed(text.substr(0, comma));
    if (!name.empty()) names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::string> name_list(const Json& value) {
  if (value.is_string()) return split_commas(value.get_ref<const std::string&>());
  std::vector<std::string> names;
  if (!value.is_array()) return names;
  for (const Json& item : value) {
    if (item.is_string()) names.push_back(item.get<std::string>());
  }
  return names;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", name);
  }
  return text;
}

}  // namespace assay::workload
