#include "base/file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

fs::path fresh_folder(const char* name) {
  fs::path folder = fs::path(::testing::TempDir()) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

TEST(File, WhatIsWrittenAtomicallyIsReadBack) {
  const fs::path path = fresh_folder("file test ä") / "x.json";
  ASSERT_THAT(write_file_atomic(path, "one"), IsOk());
  ASSERT_THAT(write_file_atomic(path, "two"), IsOk());
  EXPECT_EQ(read_file(path).value(), "two");
}

TEST(File, FailedWriteLeavesNothingBehind) {
  const fs::path folder = fresh_folder("file_test_fail");
  fs::create_directories(folder / "target" / "full");
  EXPECT_FALSE(write_file_atomic(folder / "target", "x").ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST(File, MissingFileIsNamed) {
  EXPECT_THAT(read_file("/nowhere/x.json"),
              StatusIs(StatusCode::kNotFound, HasSubstr("\"/nowhere/x.json\"")));
}

TEST(File, FolderIsRefusedAsFile) {
  EXPECT_THAT(read_file("/tmp"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("folder")));
}

TEST(File, LargerThanTheLimitIsRefused) {
  const fs::path path = fresh_folder("file_test_limit") / "big";
  std::ofstream(path) << "0123456789";
  EXPECT_THAT(read_file(path, 5), StatusIs(StatusCode::kResourceExhausted, HasSubstr("5 bytes")));
}

TEST(File, FolderWithTooLittleSpaceIsRefusedBeforeWork) {
  EXPECT_THAT(check_writable_folder(fresh_folder("file_test_space"), std::uint64_t{1} << 60),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("needed")));
}

TEST(File, FolderBelowAFileIsRefused) {
  const fs::path path = fresh_folder("file_test_below") / "plain";
  std::ofstream(path) << "x";
  EXPECT_FALSE(check_writable_folder(path / "sub", 0).ok());
}

}  // namespace
}  // namespace assay
