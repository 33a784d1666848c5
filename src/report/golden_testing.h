#pragma once

// Golden files: what a report emits, kept in tests/golden and read in review. tools/update_goldens
// rewrites them; a test run never does unless ASSAY_UPDATE_GOLDENS is set.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "base/json.h"

namespace assay::testing {

inline std::filesystem::path golden_path(const std::string& name) {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / "tests" / "golden" / name;
}

inline std::string golden_text(const std::string& name) {
  const auto text = read_file(golden_path(name));
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}

inline Json golden_result(const std::string& name) {
  return Json::parse(golden_text("result-" + name + ".json"), nullptr, false);
}

// The first line in which two texts differ, for a message that can be read.
inline std::string first_difference(const std::string& got, const std::string& want) {
  std::size_t at = 0;
  while (at < got.size() && at < want.size() && got[at] == want[at]) ++at;
  const std::size_t begin = at == 0 ? 0 : got.rfind('\n', at - 1) + 1;
  const auto line = [begin](const std::string& text) {
    return begin < text.size() ? text.substr(begin, text.find('\n', begin) - begin) : "(ends)";
  };
  return "got:    " + line(got) + "\nwanted: " + line(want);
}

inline void expect_golden(const std::string& name, const std::string& got) {
  if (std::getenv("ASSAY_UPDATE_GOLDENS") != nullptr) {
    const Status written = write_file_atomic(golden_path(name), got);
    ASSERT_TRUE(written.ok()) << written.to_string();
    return;
  }
  const std::string want = golden_text(name);
  EXPECT_TRUE(got == want) << name << " differs; tools/update_goldens rewrites it\n"
                           << first_difference(got, want);
}

}  // namespace assay::testing
