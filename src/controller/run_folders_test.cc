#include "controller/run_folders.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

class RunFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / ("run_folders_" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path root_;
};

// A process that was, and is waited for.
pid_t gone_process() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  return pid;
}

TEST_F(RunFolders, StagingOfProcessesThatAreGoneIsRemoved) {
  const fs::path stale = staging_folder(root_, gone_process());
  const fs::path own = staging_folder(root_, ::getpid());
  const fs::path other = root_ / "tmp" / "run-notes";
  for (const fs::path& folder : {stale, own, other}) {
    fs::create_directories(folder);
    std::ofstream(folder / "probe.log") << "text";
  }
  remove_stale_staging(root_);
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(own));
  EXPECT_TRUE(fs::exists(other));
  remove_stale_staging(root_ / "there is none");
}

TEST_F(RunFolders, OnlyWhatAProcessThatIsGoneLeftUnfinishedIsRemoved) {
  fs::create_directories(root_ / "below");
  const std::string gone = std::to_string(gone_process());
  const std::string alive = std::to_string(::getpid());
  for (const std::string& name :
       {"result.json.partial-" + gone, ".probe-" + gone, "result.json.partial-" + alive,
        ".probe-" + alive, "x.partial-" + gone + "a", std::string("result.json")}) {
    std::ofstream(root_ / name) << "text";
  }
  std::ofstream(root_ / "below" / (".probe-" + gone)) << "text";
  remove_stale_partials(root_);
  EXPECT_FALSE(fs::exists(root_ / ("result.json.partial-" + gone)));
  EXPECT_FALSE(fs::exists(root_ / (".probe-" + gone)));
  EXPECT_TRUE(fs::exists(root_ / ("result.json.partial-" + alive)));
  EXPECT_TRUE(fs::exists(root_ / (".probe-" + alive)));
  EXPECT_TRUE(fs::exists(root_ / ("x.partial-" + gone + "a")));
  EXPECT_TRUE(fs::exists(root_ / "result.json"));
  EXPECT_TRUE(fs::exists(root_ / "below" / (".probe-" + gone)));
}

TEST_F(RunFolders, GuardRemovesTheParentsThatWereNotThere) {
  const fs::path output = root_ / "results" / "task" / "CPU" / "now";
  fs::create_directories(root_ / "results");
  {
    const FolderGuard guard(output);
    fs::create_directories(output);
  }
  EXPECT_FALSE(fs::exists(root_ / "results" / "task"));
  EXPECT_TRUE(fs::exists(root_ / "results"));
  {
    const FolderGuard guard(output);
    fs::create_directories(output);
    std::ofstream(output / "result.json") << "{}";
  }
  EXPECT_TRUE(fs::exists(output / "result.json"));
}

TEST_F(RunFolders, ClaimedFoldersAreOnesOwnAndGoWhenTheyAreEmpty) {
  const fs::path parent = root_ / "results" / "task" / "CPU";
  {
    FolderGuard first;
    FolderGuard second;
    EXPECT_EQ(*first.claim(parent, "now"), parent / "now");
    EXPECT_EQ(*second.claim(parent, "now"), parent / "now-2");
    EXPECT_TRUE(fs::is_directory(parent / "now") && fs::is_directory(parent / "now-2"));
    std::ofstream(parent / "now-2" / "result.json") << "{}";
  }
  EXPECT_FALSE(fs::exists(parent / "now"));
  EXPECT_TRUE(fs::exists(parent / "now-2" / "result.json"));
  fs::remove_all(root_ / "results");
  {
    EXPECT_TRUE(FolderGuard().claim(parent, "now").ok());
  }
  EXPECT_FALSE(fs::exists(root_ / "results"));
}

TEST_F(RunFolders, AFolderThatCannotBeClaimedIsNamed) {
  std::ofstream(root_ / "plain") << "x";
  const auto claimed = FolderGuard().claim(root_ / "plain", "now");
  ASSERT_FALSE(claimed.ok());
  EXPECT_NE(claimed.status().message().find("plain"), std::string::npos);
}

TEST_F(RunFolders, GuardTakesNamesThatNoFileCanHave) {
  EXPECT_NO_THROW(const FolderGuard guard(root_ / std::string(300, 'x')));
  EXPECT_NO_THROW(const FolderGuard guard(""));
}

}  // namespace
}  // namespace assay::controller
