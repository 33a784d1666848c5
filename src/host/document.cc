#include "host/document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_parse.h"
#include "host/boundary.h"

namespace assay::host {
namespace {

std::uint32_t kind_of(const Json& leaf) {
  if (leaf.is_boolean()) return ASSAY_OPTION_BOOL;
  if (leaf.is_number_float()) return ASSAY_OPTION_FLOAT;
  if (leaf.is_number()) return ASSAY_OPTION_INT;
  if (leaf.is_string()) return ASSAY_OPTION_TEXT;
  return ASSAY_OPTION_NULL;
}

std::string value_of(const Json& leaf) {
  if (leaf.is_string()) return leaf.get<std::string>();
  if (leaf.is_null()) return "";
  return leaf.dump();
}

// Calls visit(name, leaf) for every leaf of `value` in document order.
template <typename Visit>
void for_each_leaf(const Json& value, const std::string& name, const Visit& visit) {
  const std::string prefix = name.empty() ? "" : name + ".";
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) for_each_leaf(member, prefix + key, visit);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      for_each_leaf(value[i], prefix + std::to_string(i), visit);
    }
  } else {
    visit(name, value);
  }
}

}  // namespace

BoundaryDocument::BoundaryDocument(std::string json, std::vector<Leaf> leaves)
    : json_(std::move(json)), leaves_(std::move(leaves)) {
  options_.reserve(leaves_.size());
  for (const Leaf& leaf : leaves_) {
    options_.push_back({leaf.name.c_str(), leaf.value.c_str(), leaf.kind, 0});
  }
}

Result<BoundaryDocument> BoundaryDocument::parse(std::string_view json) {
  if (json.empty()) json = "{}";
  try {
    ASSIGN_OR_RETURN(const Json value, parse_json(json));
    std::vector<Leaf> leaves;
    for_each_leaf(value, "", [&](const std::string& name, const Json& leaf) {
      leaves.push_back({name, value_of(leaf), kind_of(leaf)});
    });
    return BoundaryDocument(std::string(json), std::move(leaves));
  } catch (const Json::exception& e) {
    return invalid_argument(fmt::format("not JSON: {}", e.what()));
  }
}

assay_document BoundaryDocument::get() const {
  return {sizeof(assay_document), 0, borrowed(json_), options_.data(), options_.size()};
}

}  // namespace assay::host
