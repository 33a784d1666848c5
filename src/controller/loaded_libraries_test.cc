#include "controller/loaded_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/testing.h"

namespace assay::controller {
namespace {

TEST(LoadedLibraries, AreTheSharedObjectsOfTheMapsEachOnce) {
  const std::string maps =
      "55e0-55e1 r-xp 00000000 08:01 12 /usr/bin/assay-worker\n"
      "7f00-7f01 r--p 00000000 08:01 13 /opt/my runtime/libonnxruntime.so.1.31.1\n"
      "7f01-7f02 r-xp 00001000 08:01 13 /opt/my runtime/libonnxruntime.so.1.31.1\n"
      "7f02-7f03 rw-p 00000000 00:00 0 \n"
      "7f03-7f04 r-xp 00000000 08:01 14 /b/libassay_backend_cpu.so\n"
      "7f04-7f05 rw-s 00000000 00:01 15 /memfd:arena (deleted)\n"
      "7ffc-7ffd rw-p 00000000 00:00 0 [stack]";
  EXPECT_THAT(libraries_in_maps(maps),
              ::testing::ElementsAre("/b/libassay_backend_cpu.so",
                                     "/opt/my runtime/libonnxruntime.so.1.31.1"));
  EXPECT_TRUE(libraries_in_maps("").empty());
}

TEST(LoadedLibraries, OfAProcessAreTheSameUntilItLoadsAnother) {
  const std::string own = loaded_libraries(::getpid());
  EXPECT_FALSE(own.empty());
  EXPECT_EQ(loaded_libraries(::getpid()), own);
  EXPECT_EQ(loaded_libraries(-1), "");
}

TEST(LoadedLibraries, OfAFolderAreKnownByNameAndContent) {
  const assay::testing::ScratchFolder scratch;
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(scratch.path() / name) << text;
  };
  write("libbackend.so", "a");
  const std::string alone = libraries_in_folder(scratch.path()).value();
  write("manifest.json", "{}");
  EXPECT_EQ(libraries_in_folder(scratch.path()).value(), alone) << "only libraries count";
  write("libmodule.so.1", "b");
  const std::string both = libraries_in_folder(scratch.path()).value();
  EXPECT_NE(both, alone);
  write("libmodule.so.1", "c");
  EXPECT_NE(libraries_in_folder(scratch.path()).value(), both);
  EXPECT_FALSE(libraries_in_folder(scratch.path() / "none").ok());
}

}  // namespace
}  // namespace assay::controller
