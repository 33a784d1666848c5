#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

// `bytes` as well-formed UTF-8: what is none becomes U+FFFD. For text that others wrote.
std::string valid_utf8(std::string_view bytes);

bool is_valid_utf8(std::string_view bytes);

// Of well-formed UTF-8: whether a byte is the first of its character, and how many characters there
// are.
constexpr bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}
std::size_t character_count(std::string_view utf8);

}  // namespace assay
