#include "worker/process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/testing.h"

namespace assay::worker {
namespace {

using ::assay::testing::StatusIs;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string read_all(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

SpawnRequest shell(const std::string& script, const std::string& name) {
  const fs::path log = fs::path(::testing::TempDir()) / (name + ".log");
  fs::remove(log);
  return {.program = "/bin/sh",
          .arguments = {"-c", script},
          .environment = {},
          .log = log,
          .channel_fd = 0};
}

TEST(Process, ExitCodeIsKept) {
  Process process = Process::start(shell("exit 7", "exit_code")).value();
  const ProcessEnd end = process.wait(std::nullopt).value();
  EXPECT_FALSE(end.signalled);
  EXPECT_EQ(end.code, 7);
  EXPECT_GT(end.peak_rss_bytes, 0);
}

TEST(Process, SignalIsTold) {
  Process process = Process::start(shell("kill -SEGV $$", "signal")).value();
  const ProcessEnd end = process.wait(std::nullopt).value();
  EXPECT_TRUE(end.signalled);
  EXPECT_EQ(signal_name(end.code), "SIGSEGV");
}

TEST(Process, OutputAndErrorGoToTheLog) {
  const SpawnRequest request = shell("echo out; echo err >&2", "log");
  Process process = Process::start(request).value();
  process.wait(std::nullopt);
  EXPECT_EQ(read_all(request.log), "out\nerr\n");
}

TEST(Process, RunsInTheFolderThatIsAskedFor) {
  SpawnRequest request = shell("pwd -P; ls /proc/$$/fd/3 2>/dev/null", "folder");
  request.channel_fd = -1;
  request.working_folder = ::testing::TempDir();
  Process process = Process::start(request).value();
  process.wait(std::nullopt);
  EXPECT_EQ(read_all(request.log), fs::canonical(::testing::TempDir()).string() + "\n");
}

TEST(Process, EnvironmentIsAdded) {
  SpawnRequest request = shell("echo $ASSAY_TEST_VALUE", "environment");
  request.environment["ASSAY_TEST_VALUE"] = "here";
  Process process = Process::start(request).value();
  process.wait(std::nullopt);
  EXPECT_EQ(read_all(request.log), "here\n");
}

TEST(Process, WaitGivesUpAtItsDeadline) {
  Process process = Process::start(shell("read line < /dev/zero", "deadline")).value();
  EXPECT_FALSE(process.wait(std::chrono::steady_clock::now()).has_value());
}

TEST(Process, KillTreeReachesADescendantInASessionOfItsOwn) {
  SpawnRequest request = shell("setsid sh -c 'echo $$; exec sleep 1000' & wait", "descendant");
  Process process = Process::start(request).value();
  while (!read_all(request.log).ends_with("\n")) std::this_thread::yield();
  const pid_t descendant = static_cast<pid_t>(std::stol(read_all(request.log)));
  process.kill_tree();
  process.wait(std::nullopt);
  // The killed descendant is reaped by its new parent; until then it shows as a zombie.
  const auto alive = [&] {
    const std::string stat = read_all("/proc/" + std::to_string(descendant) + "/stat");
    return !stat.empty() && stat.find(") Z") == std::string::npos;
  };
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (alive() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_FALSE(alive());
}

TEST(Process, MissingProgramIsNamed) {
  SpawnRequest request = shell("", "missing");
  request.program = "/nowhere/worker";
  EXPECT_THAT(Process::start(request),
              StatusIs(StatusCode::kNotFound, HasSubstr("/nowhere/worker")));
}

}  // namespace
}  // namespace assay::worker
