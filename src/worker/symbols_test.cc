#include "worker/symbols.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

namespace assay::worker {
namespace {

TEST(Symbols, ExportedNameIsDemangled) {
  EXPECT_EQ(Symbols().frame_in_words("/usr/lib/libthing.so.1(_ZN5thing4loadEi+0x1f)[0x7f01]"),
            "thing::load(int) (libthing.so.1)");
}

TEST(Symbols, WhatIsUnknownStaysAnAddress) {
  EXPECT_EQ(Symbols().frame_in_words("/no/such/libthing.so(+0x1f)[0x7f01]"), "+0x1f (libthing.so)");
  EXPECT_EQ(Symbols().frame_in_words("[0x7f01]"), "[0x7f01]");
  EXPECT_EQ(Symbols().frame_in_words("Thread 0x7f01 (most recent call first):"),
            "Thread 0x7f01 (most recent call first):");
}

TEST(Symbols, AFileThatIsNoLibraryHasNone) {
  const std::string path = ::testing::TempDir() + "/no_library.so";
  std::ofstream(path) << "\x7f"
                         "ELF\x02 and nothing more";
  EXPECT_EQ(Symbols().function_at(path, 16), "");
  std::ofstream(path) << std::string(
                             "\x7f"
                             "ELF\x02") +
                             std::string(4096, '\xff');
  EXPECT_EQ(Symbols().function_at(path, 16), "");
}

}  // namespace
}  // namespace assay::worker
