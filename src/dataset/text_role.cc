#include "dataset/text_role.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

namespace assay::dataset {
namespace {

struct RoleRow {
  std::string_view part;  // of the input's name; the first row that fits counts
  TextRole role;
};
constexpr std::array kRoleNames = {
    RoleRow{"mask", TextRole::kMask},        RoleRow{"token_type", TextRole::kSegments},
    RoleRow{"segment", TextRole::kSegments}, RoleRow{"ids", TextRole::kIds},
    RoleRow{"token", TextRole::kIds},
};

}  // namespace

Result<TextRole> text_role(const TensorSpec& input) {
  for (const RoleRow& row : kRoleNames) {
    if (input.name.find(row.part) != std::string::npos) return row.role;
  }
  return invalid_argument(
      fmt::format("input {} is none of ids, mask and segments by its name", to_string(input)));
}

}  // namespace assay::dataset
