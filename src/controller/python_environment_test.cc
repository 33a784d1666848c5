#include "controller/python_environment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/testing.h"
#include "controller/python_child.h"
#include "controller/python_worker.h"

namespace assay::controller {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

// An empty folder of the test that runs, removed with it.
class Scratch {
 public:
  Scratch()
      : path_(fs::path(::testing::TempDir()) /
              fmt::format("{}-{}", ::testing::UnitTest::GetInstance()->current_test_info()->name(),
                          ::getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path_); }

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

PythonInterpreter interpreter() {
  return {.path = "python3.11",
          .implementation = "CPython",
          .version = "3.11.7",
          .platform = "linux-x86_64"};
}

TEST(EnvironmentHash, IsOfTheRequirementsAndTheInterpreter) {
  const std::string one = environment_hash("numpy\n", interpreter());
  EXPECT_EQ(one.size(), 64U);
  EXPECT_EQ(environment_hash("numpy\n", interpreter()), one);
  EXPECT_NE(environment_hash("numpy==2\n", interpreter()), one);
  PythonInterpreter other = interpreter();
  other.version = "3.11.8";
  EXPECT_NE(environment_hash("numpy\n", other), one);
  other = interpreter();
  other.path = "elsewhere";
  EXPECT_NE(environment_hash("numpy\n", other), one);
  other = interpreter();
  other.platform = "linux-aarch64";
  EXPECT_NE(environment_hash("numpy\n", other), one);
  other = interpreter();
  other.packages = {"pip==1"};  // an environment of its own has none of them
  EXPECT_EQ(environment_hash("numpy\n", other), one);
}

TEST(Requirements, IncludedFilesArePartOfTheText) {
  const Scratch scratch;
  fs::create_directories(scratch.path() / "more");
  ASSERT_THAT(write_file_atomic(scratch.path() / "a.txt", "numpy\n-r more/b.txt\n"), IsOk());
  ASSERT_THAT(write_file_atomic(scratch.path() / "more" / "b.txt", "--constraint=c.txt"), IsOk());
  ASSERT_THAT(write_file_atomic(scratch.path() / "more" / "c.txt", "scipy<2"), IsOk());
  const Result<std::string> text = requirements_text(scratch.path() / "a.txt");
  ASSERT_THAT(text, IsOk());
  EXPECT_EQ(*text, "numpy\n-r more/b.txt\n\n--constraint=c.txt\nscipy<2\n");
}

TEST(Requirements, FilesThatIncludeOneAnotherEnd) {
  const Scratch scratch;
  ASSERT_THAT(write_file_atomic(scratch.path() / "a.txt", "-r a.txt\n"), IsOk());
  EXPECT_THAT(requirements_text(scratch.path() / "a.txt"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a.txt")));
  EXPECT_THAT(requirements_text(scratch.path() / "no.txt"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no.txt")));
}

TEST(InstallerReason, IsItsErrorLinesOnce) {
  const std::string reason = installer_reason(
      "Collecting numpy\n"
      "ERROR: Could not find a version that satisfies the requirement tensorflow==2.4.0 (from "
      "versions: 2.12.0)\n"
      "ERROR: No matching distribution found for tensorflow==2.4.0\n"
      "ERROR: No matching distribution found for tensorflow==2.4.0\n"
      "WARNING: there is a newer pip\n");
  EXPECT_EQ(reason,
            "  ERROR: Could not find a version that satisfies the requirement tensorflow==2.4.0 "
            "(from versions: 2.12.0)\n"
            "  ERROR: No matching distribution found for tensorflow==2.4.0");
}

TEST(InstallerReason, IsItsLastWordsWhenNoneIsAnError) {
  EXPECT_EQ(installer_reason("one\n\n  two \n"), "  one\n  two");
  EXPECT_EQ(installer_reason(""), "  (it said nothing)");
}

TEST(RunChild, TellsEachLineAndHowItEnded) {
  const Scratch scratch;
  std::vector<std::string> lines;
  ChildRequest request;
  request.program = "/bin/sh";
  request.log = scratch.path() / "log";
  request.on_line = [&](const std::string& line) { lines.push_back(line); };
  request.arguments = {"-c", "echo one; echo two >&2; printf three"};
  EXPECT_THAT(run_child(request), IsOk());
  EXPECT_THAT(lines, ElementsAre("one", "two"));
  request.arguments = {"-c", "exit 3"};
  EXPECT_THAT(run_child(request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("exited with code 3")));
  request.program = "/no/such/program";
  EXPECT_FALSE(run_child(request).ok());
}

TEST(RunChild, EndsWithTheUsersInterruption) {
  const Scratch scratch;
  const std::atomic<bool> stop = true;
  ChildRequest request;
  request.program = "/bin/sh";
  request.arguments = {"-c", "sleep 1000"};
  request.log = scratch.path() / "log";
  request.stop = &stop;
  EXPECT_THAT(run_child(request), StatusIs(StatusCode::kCancelled, HasSubstr("interrupted")));
}

TEST(Interpreter, ThatIsNoneIsRefusedByName) {
  const Scratch scratch;
  EXPECT_THAT(ask_interpreter("no/such/python", scratch.path() / "log", nullptr),
              StatusIs(StatusCode::kNotFound, HasSubstr("no/such/python")));
  EXPECT_THAT(ask_interpreter("no-such-python", scratch.path() / "log", nullptr),
              StatusIs(StatusCode::kNotFound, HasSubstr("--python")));
  EXPECT_THAT(
      ask_interpreter("/bin/false", scratch.path() / "log", nullptr),
      StatusIs(StatusCode::kFailedPrecondition, AllOf(HasSubstr("false"), HasSubstr("code 1"))));
}

TEST(Interpreter, OfAnotherVersionIsNamedWithBothSides) {
  const Scratch scratch;
  const fs::path fake = scratch.path() / "python3.6";
  ASSERT_THAT(write_file_atomic(fake, R"(#!/bin/sh
echo 'assay-python {"path": "/x/python3.6", "implementation": "CPython", "version": "3.6.9", "platform": "linux", "supported": false, "has_numpy": false, "packages": []}'
)"),
              IsOk());
  fs::permissions(fake, fs::perms::owner_all);
  EXPECT_THAT(
      ask_interpreter(fake.string(), scratch.path() / "log", nullptr),
      StatusIs(StatusCode::kFailedPrecondition, AllOf(HasSubstr("3.6.9"), HasSubstr("3.8"))));
}

TEST(WorkerLaunch, OfAPythonBackendIsItsInterpreter) {
  host::Manifest manifest;
  manifest.folder = "vendor/XPU";
  manifest.hardware_type = "XPU";
  manifest.language = host::Language::kPython;
  manifest.environment = {{"XPU_LOG", "off"}};
  EXPECT_THAT(worker_launch("assay-worker", std::nullopt, manifest),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("XPU")));
  const PythonWorker python{.interpreter = "env/bin/python",
                            .environment = {{"VIRTUAL_ENV", "env"}},
                            .stubs = {"torch", "tensorflow"},
                            .package = "share/python",
                            .worker_library = "lib/libassay_worker.so",
                            .bridge = "lib/libbridge.so",
                            .scratch = "scratch"};
  const Result<WorkerLaunch> launch = worker_launch("assay-worker", python, manifest);
  ASSERT_THAT(launch, IsOk());
  EXPECT_EQ(launch->program, "env/bin/python");
  EXPECT_THAT(launch->arguments, ElementsAre("-B", "-m", "assay_host.worker"));
  EXPECT_EQ(launch->backend_library, "lib/libbridge.so");
  EXPECT_EQ(launch->working_folder, "scratch");
  EXPECT_EQ(launch->environment.at("ASSAY_PYTHON_STUBS"), "torch,tensorflow");
  EXPECT_EQ(launch->environment.at("ASSAY_PYTHON_BACKEND"), "vendor/XPU");
  EXPECT_EQ(launch->environment.at("VIRTUAL_ENV"), "env");
  EXPECT_EQ(launch->environment.at("XPU_LOG"), "off");
  EXPECT_THAT(launch->environment.at("PYTHONPATH"), ::testing::StartsWith("share/python"));
}

}  // namespace
}  // namespace assay::controller
