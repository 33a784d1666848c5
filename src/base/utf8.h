#pragma once

#include <string>
#include <string_view>

namespace assay {

// `bytes` as well-formed UTF-8: what is none becomes U+FFFD. For text that others wrote.
std::string valid_utf8(std::string_view bytes);

bool is_valid_utf8(std::string_view bytes);

}  // namespace assay
