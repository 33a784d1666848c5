#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay::workload {

// "a, b," -> {"a", "b"}: white space around names and empty names fall away.
std::vector<std::string> split_commas(std::string_view text);

// A list of names as files give it: text with commas, a list of texts, or null for none.
std::vector<std::string> name_list(const Json& value);

// `"a", "b"`, for messages.
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace assay::workload
