// Any bytes: a value with a place for each of its parts, or a message with a line.

#include "base/json_file.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "fuzz.h"

namespace {

void check_places(const assay::JsonFile& file, const assay::Json& value,
                  const std::string& pointer) {
  FUZZ_CHECK(file.value_position(pointer).line > 0);
  FUZZ_CHECK(file.key_position(pointer) <= file.value_position(pointer));
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      check_places(file, value[i], pointer + "/" + std::to_string(i));
    }
  } else if (value.is_object()) {
    for (const auto& member : value.items()) {
      check_places(file, member.value(), pointer + "/" + assay::pointer_token(member.key()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = assay::JsonFile::parse(text, "f");
  if (!file.ok()) {
    FUZZ_CHECK(file.status().code() == assay::StatusCode::kInvalidArgument);
    FUZZ_CHECK(file.status().message().starts_with("f:"));
    return 0;
  }
  check_places(*file, file->value(), "");
  if (file->empty()) return 0;
  // What was read is JSON that reads as the same again.
  const auto again = assay::JsonFile::parse(file->value().dump(), "g");
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(again->value() == file->value());
  return 0;
}
