#include "base/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/cpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A host's files, written for one test.
class CgroupTest : public ::testing::Test {
 protected:
  CgroupTest()
      : root_(fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
  }
  ~CgroupTest() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  fs::path root_;
};

TEST_F(CgroupTest, TightestLimitOfVersion2IsFoundOnTheWayUp) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/memory.max", "4096\n");
  EXPECT_EQ(cgroup_memory_limit_bytes(root_), 4096);
  EXPECT_THAT(memory_cgroups(root_),
              ElementsAre(root_ / "sys/fs/cgroup/outer/inner", root_ / "sys/fs/cgroup/outer"));
}

TEST_F(CgroupTest, RootOfANamespaceHasItsLimit) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "8192\n");
  write("sys/fs/cgroup/memory.events", "low 0\nhigh 3\nmax 9\noom 2\noom_kill 1\n");
  EXPECT_EQ(cgroup_memory_limit_bytes(root_), 8192);
  EXPECT_EQ(cgroup_oom_kills(root_), 1);
}

TEST_F(CgroupTest, Version1HasFilesOfItsOwn) {
  write("proc/self/cgroup", "5:cpu:/\n4:memory:/job\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "12288\n");
  write("sys/fs/cgroup/memory/job/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  EXPECT_EQ(cgroup_memory_limit_bytes(root_), 12288);
  EXPECT_EQ(cgroup_oom_kills(root_), 5);
}

TEST_F(CgroupTest, TightestCpuQuotaIsFoundOnTheWayUp) {
  write("proc/self/cgroup", "4:memory:/old\n0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpu_quota_cores(root_), std::nullopt);
  write("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota_cores(root_), 1.5);
  write("sys/fs/cgroup/outer/inner/cpu.max", "100000 0\n");  // no period, no quota
  EXPECT_EQ(cgroup_cpu_quota_cores(root_), 1.5);
}

TEST_F(CgroupTest, NoGroupsMeanNoLimit) {
  EXPECT_THAT(memory_cgroups(root_), IsEmpty());
  EXPECT_EQ(cgroup_memory_limit_bytes(root_), std::nullopt);
  EXPECT_EQ(cgroup_cpu_quota_cores(root_), std::nullopt);
  EXPECT_EQ(cgroup_oom_kills(root_), 0);
}

TEST(UsableCpus, ThereIsOneAtLeast) { EXPECT_GE(usable_cpus(), 1U); }

}  // namespace
}  // namespace assay
