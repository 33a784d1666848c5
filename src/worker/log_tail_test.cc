#include "worker/log_tail.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace assay::worker {
namespace {

std::filesystem::path log_of(const std::string& text) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) /
      (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".log");
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(LogTail, ShortLogIsWhole) {
  EXPECT_EQ(log_tail(log_of("one\ntwo\n"), 100), "one\ntwo");
  EXPECT_EQ(log_tail(log_of(""), 100), "");
  EXPECT_EQ(log_tail("/nowhere/log", 100), "");
}

TEST(LogTail, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(log_tail(log_of("bad \xFF byte\n"), 100), "bad \xEF\xBF\xBD byte");
}

TEST(LogTail, BeginsWithAWholeLine) {
  EXPECT_EQ(log_tail(log_of("first line\nsecond\nthird\n"), 15), "second\nthird");
  // "second\nthird\n" is just what fits.
  EXPECT_EQ(log_tail(log_of("first line\nsecond\nthird\n"), 13), "second\nthird");
}

TEST(LogTail, LongLineIsCutBetweenCharacters) {
  EXPECT_EQ(log_tail(log_of("xx\xE6\xBC\xA2\xE6\xBC\xA2"), 5), "\xE6\xBC\xA2");
  EXPECT_EQ(log_tail(log_of("\xC3\xA4\xC3\xA4\xC3\xA4"), 4), "\xC3\xA4\xC3\xA4");
}

}  // namespace
}  // namespace assay::worker
