#include "base/utf8.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Utf8, WellFormedTextStays) {
  EXPECT_EQ(valid_utf8("plain, ä, 漢, \xF0\x9F\x98\x80\n"), "plain, ä, 漢, \xF0\x9F\x98\x80\n");
  EXPECT_TRUE(is_valid_utf8("ä"));
  EXPECT_TRUE(is_valid_utf8(""));
}

TEST(Utf8, BytesThatAreNoneAreReplaced) {
  EXPECT_EQ(valid_utf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_FALSE(is_valid_utf8("a\xFFz"));
}

TEST(Utf8, HalfACharacterIsReplaced) {
  EXPECT_EQ(valid_utf8("ok \xE6\xBC"), "ok \xEF\xBF\xBD");  // two bytes of three
  EXPECT_EQ(valid_utf8("\xA4 ok"), "\xEF\xBF\xBD ok");      // the second byte of two
  EXPECT_FALSE(is_valid_utf8("\xED\xA0\x80"));              // a surrogate
}

TEST(CharacterCount, CountsTheBytesThatBeginOne) {
  EXPECT_EQ(character_count(""), 0U);
  EXPECT_EQ(character_count("ab"), 2U);
  EXPECT_EQ(character_count("\u00e4\u6f22\U0001F600"), 3U);  // of two, three and four bytes
  EXPECT_TRUE(starts_character('\xC3'));
  EXPECT_FALSE(starts_character('\xA4'));
}

}  // namespace
}  // namespace assay
