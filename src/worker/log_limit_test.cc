#include "worker/log_limit.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/testing.h"

namespace assay::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class LogLimitTest : public ::testing::Test {
 protected:
  void print(const std::string& text) { std::ofstream(log_, std::ios::app) << text; }
  std::string read() {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const assay::testing::ScratchFolder folder_;
  const fs::path log_ = folder_.path() / "log_limit.log";
  LogLimit limit_{log_, 1000};
};

TEST_F(LogLimitTest, TwiceWhatIsKeptIsLeftAlone) {
  print(std::string(2000, 'a'));
  limit_.enforce();
  EXPECT_EQ(read(), std::string(2000, 'a'));
  EXPECT_EQ(limit_.dropped_bytes(), 0U);
}

TEST_F(LogLimitTest, BeginningAndNewestLinesAreKeptAndTheRestIsCounted) {
  print("begins\n" + std::string(200'000, 'x') + "\nlast words\n");
  limit_.enforce();
  const std::string kept = read();
  EXPECT_THAT(kept, StartsWith("begins\nxxx"));
  EXPECT_TRUE(kept.ends_with("\nlast words\n")) << kept;
  // 7 + 200000 + 12 bytes, of which the first 1000 and the last 11 stay.
  EXPECT_EQ(limit_.dropped_bytes(), 199'008U);
  EXPECT_THAT(kept, HasSubstr("199008 bytes that stood here were dropped"));
}

TEST_F(LogLimitTest, WhatIsDroppedAddsUp) {
  for (int i = 0; i < 2; ++i) {
    print(std::string(9'999, 'x') + "\n");
    limit_.enforce();
  }
  // The second time the note and the new text stand behind the first 1000 bytes.
  EXPECT_GT(limit_.dropped_bytes(), 9'000U);
  EXPECT_LT(fs::file_size(log_), 1000U + 70'000U);
}

TEST_F(LogLimitTest, NoLogIsNoTrouble) {
  limit_.enforce();
  EXPECT_FALSE(fs::exists(log_));
}

}  // namespace
}  // namespace assay::worker
