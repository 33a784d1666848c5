#include "base/hash.h"

#include <gtest/gtest.h>

#include <fstream>

namespace assay {
namespace {

// FIPS 180-2, appendix B.1.
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, PublishedExample) { EXPECT_EQ(sha256_hex("abc"), kAbc); }

TEST(Sha256, InPiecesEqualsAtOnce) {
  Sha256 hash;
  hash.update("a");
  hash.update("bc");
  EXPECT_EQ(hash.hex_digest(), kAbc);
}

TEST(Sha256, OfFileEqualsOfBytes) {
  const std::string path = ::testing::TempDir() + "/hash_test_abc";
  std::ofstream(path) << "abc";
  EXPECT_EQ(sha256_of_file(path).value(), kAbc);
}

TEST(Sha256, MissingFileFails) { EXPECT_FALSE(sha256_of_file("/nowhere/x").ok()); }

}  // namespace
}  // namespace assay
