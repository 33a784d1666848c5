#include "controller/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/testing.h"

namespace assay::controller {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;

class JournalTest : public ::testing::Test {
 protected:
  JournalTest()
      : path_(fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove(path_);
  }
  fs::path path_;
};

TEST_F(JournalTest, ResumedJournalKnowsWhatWasDone) {
  {
    Journal journal = Journal::open(path_, /*resume=*/false).value();
    ASSERT_THAT(journal.add("compile", "k1", Json{{"answer", 42}}), IsOk());
  }
  const Journal resumed = Journal::open(path_, /*resume=*/true).value();
  ASSERT_TRUE(resumed.find("compile", "k1").has_value());
  EXPECT_EQ(resumed.find("compile", "k1")->get().at("answer"), 42);
}

TEST_F(JournalTest, OtherKeyIsNotFound) {
  Journal journal = Journal::open(path_, /*resume=*/false).value();
  ASSERT_THAT(journal.add("compile", "k1", Json::object()), IsOk());
  EXPECT_FALSE(journal.find("compile", "k2").has_value());
  EXPECT_FALSE(journal.find("accuracy", "k1").has_value());
}

TEST_F(JournalTest, WithoutResumeItStartsEmpty) {
  {
    Journal journal = Journal::open(path_, /*resume=*/false).value();
    ASSERT_THAT(journal.add("compile", "k1", Json::object()), IsOk());
  }
  EXPECT_FALSE(Journal::open(path_, /*resume=*/false).value().find("compile", "k1").has_value());
}

TEST_F(JournalTest, LineThatACrashCutOffIsDropped) {
  {
    Journal journal = Journal::open(path_, /*resume=*/false).value();
    ASSERT_THAT(journal.add("compile", "k1", Json::object()), IsOk());
  }
  std::ofstream(path_, std::ios::app) << R"({"step":"accuracy","key":"k2","resu)";
  Journal resumed = Journal::open(path_, /*resume=*/true).value();
  EXPECT_TRUE(resumed.find("compile", "k1").has_value());
  ASSERT_THAT(resumed.add("numeric", "k3", Json::object()), IsOk());
  const Journal again = Journal::open(path_, /*resume=*/true).value();
  EXPECT_TRUE(again.find("numeric", "k3").has_value());
  EXPECT_FALSE(again.find("accuracy", "k2").has_value());
}

TEST(KeyOf, DifferentListsHaveDifferentKeys) {
  EXPECT_NE(key_of({"ab", "c"}), key_of({"a", "bc"}));
  EXPECT_NE(key_of({"a"}), key_of({"a", ""}));
  EXPECT_EQ(key_of({"a", "b"}), key_of({"a", "b"}));
}

}  // namespace
}  // namespace assay::controller
