#include "controller/utf8.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace assay::controller {
namespace {

TEST(MakeUtf8, ReplacesWhatIsNotAndLeavesTheRest) {
  Json json{{"reason", "died: \xff\xfe!"},
            {"list", {"plain", "ü", "\xc3"}},
            {"bad\x80key", 1},
            {"n", 1.5},
            {"none", nullptr}};
  make_utf8(json);
  EXPECT_EQ(json.at("reason"), "died: \xEF\xBF\xBD\xEF\xBF\xBD!");
  EXPECT_EQ(json.at("list"), Json::array({"plain", "ü", "\xEF\xBF\xBD"}));
  EXPECT_EQ(json.at("bad\xEF\xBF\xBDkey"), 1);
  EXPECT_EQ(json.at("n"), 1.5);
  EXPECT_NO_THROW((void)json.dump());
}

}  // namespace
}  // namespace assay::controller
