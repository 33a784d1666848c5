#include "worker/shared_names.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/testing.h"

namespace assay::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// A folder that stands for /dev/shm, and this process for a worker: it holds what it opens.
class SharedNamesTest : public ::testing::Test {
 protected:
  SharedNamesTest() { std::ofstream(folder_ / "before"); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  int open(const std::string& name) const {
    return ::open(path(name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  }

  const assay::testing::ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path();
  const std::array<pid_t, 1> self_ = {::getpid()};
};

TEST_F(SharedNamesTest, WhatWasHeldIsRemovedOnceNobodyHoldsIt) {
  SharedNames names(folder_);
  const int fd = open("theirs");
  names.look(self_);
  ::close(fd);
  const LeftNames left = names.clear();
  EXPECT_THAT(left.removed, ElementsAre(path("theirs")));
  EXPECT_THAT(left.unclaimed, IsEmpty());
  EXPECT_FALSE(fs::exists(path("theirs")));
  EXPECT_TRUE(fs::exists(path("before")));
}

TEST_F(SharedNamesTest, WhatIsHeldStays) {
  SharedNames names(folder_);
  const int fd = open("held");
  names.look(self_);
  const LeftNames left = names.clear();
  EXPECT_THAT(left.removed, IsEmpty());
  EXPECT_THAT(left.unclaimed, IsEmpty());
  EXPECT_TRUE(fs::exists(path("held")));
  ::close(fd);
}

TEST_F(SharedNamesTest, WhatNobodyWasSeenToHoldIsSaidAndStays) {
  SharedNames names(folder_);
  std::ofstream(path("whose"));
  names.look(self_);
  const LeftNames left = names.clear();
  EXPECT_THAT(left.removed, IsEmpty());
  EXPECT_THAT(left.unclaimed, ElementsAre(path("whose")));
  EXPECT_TRUE(fs::exists(path("whose")));
}

TEST_F(SharedNamesTest, AFolderGoesWithWhatIsInIt) {
  SharedNames names(folder_);
  fs::create_directories(folder_ / "many");
  const int fd = open("many/one");
  names.look(self_);
  ::close(fd);
  EXPECT_THAT(names.clear().removed, ElementsAre(path("many")));
  EXPECT_FALSE(fs::exists(path("many")));
}

TEST_F(SharedNamesTest, WhatLaterCameIsLookedAtToo) {
  SharedNames names(folder_);
  const int first = open("first");
  names.look(self_);
  const int second = open("second");
  names.look(self_);
  ::close(first);
  ::close(second);
  EXPECT_THAT(names.clear().removed, ElementsAre(path("first"), path("second")));
}

TEST_F(SharedNamesTest, NoFolderIsNoNames) {
  SharedNames names(folder_ / "none");
  names.look(self_);
  EXPECT_THAT(names.clear().unclaimed, IsEmpty());
}

TEST_F(SharedNamesTest, SegmentsBelongToTheirMaker) {
  SharedNames names(folder_);
  const int segment = ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  if (segment < 0) GTEST_SKIP() << "no System V shared memory here";
  const std::string name = "System V shared memory " + std::to_string(segment);
  EXPECT_THAT(names.clear().removed, Not(Contains(name))) << "nobody was looked at";
  names.look(self_);
  EXPECT_THAT(names.clear().removed, Contains(name));
  EXPECT_LT(::shmctl(segment, IPC_STAT, nullptr), 0) << "it is gone";
}

}  // namespace
}  // namespace assay::worker
