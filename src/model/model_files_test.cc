#include "model/model_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/hash.h"
#include "base/testing.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// sha256sum of "abc" and of nothing: FIPS 180-4, and RFC 6234.
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

class HashModelFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    // Tests run side by side.
    folder_ = fs::path(::testing::TempDir()) / ("hash model files " + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& content) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  fs::path folder_;
};

TEST_F(HashModelFiles, FileHasTheDigestOfItsBytes) {
  const Result<ModelFiles> files = hash_model_files(write("m.pt", "abc"), "pt");
  ASSERT_THAT(files, IsOk());
  EXPECT_EQ(files->hash, kAbc);
  EXPECT_EQ(files->size_bytes, 3U);
}

TEST_F(HashModelFiles, FolderIsEveryFileByName) {
  write("saved/variables/variables.data", "");
  write("saved/saved_model.pb", "abc");
  const Result<ModelFiles> files = hash_model_files(folder_ / "saved", "saved_model");
  ASSERT_THAT(files, IsOk());
  EXPECT_EQ(files->size_bytes, 3U);
  EXPECT_EQ(files->hash, sha256_hex(std::string("saved_model.pb ") + kAbc +
                                    "\nvariables/variables.data " + kNothing + "\n"));
}

TEST_F(HashModelFiles, RenamedFileMakesAnotherModel) {
  write("a/one", "abc");
  write("b/two", "abc");
  const Result<ModelFiles> one = hash_model_files(folder_ / "a", "saved_model");
  const Result<ModelFiles> two = hash_model_files(folder_ / "b", "saved_model");
  ASSERT_THAT(one, IsOk());
  ASSERT_THAT(two, IsOk());
  EXPECT_NE(one->hash, two->hash);
}

TEST_F(HashModelFiles, WhereTheFolderLiesDoesNotMatter) {
  write("a/m/one", "abc");
  write("b/n/one", "abc");
  const Result<ModelFiles> one = hash_model_files(folder_ / "a" / "m", "saved_model");
  const Result<ModelFiles> two = hash_model_files(folder_ / "b" / "n/", "saved_model");
  ASSERT_THAT(one, IsOk());
  ASSERT_THAT(two, IsOk());
  EXPECT_EQ(one->hash, two->hash);
}

TEST_F(HashModelFiles, IrHasItsWeightsBesideIt) {
  const fs::path path = write("m.xml", "");
  EXPECT_THAT(hash_model_files(path, "ir"), StatusIs(StatusCode::kNotFound, HasSubstr("m.bin")));
  write("m.bin", "abc");
  const Result<ModelFiles> files = hash_model_files(path, "ir");
  ASSERT_THAT(files, IsOk());
  EXPECT_EQ(files->size_bytes, 3U);
  EXPECT_EQ(files->hash, sha256_hex(std::string("m.bin ") + kAbc + "\nm.xml " + kNothing + "\n"));
}

TEST_F(HashModelFiles, WhatIsNotThereIsNamed) {
  EXPECT_THAT(hash_model_files(folder_ / "no.pt", "pt"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no.pt")));
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(
      hash_model_files(folder_ / "empty", "saved_model"),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("empty"), HasSubstr("no file"))));
}

}  // namespace
}  // namespace assay
