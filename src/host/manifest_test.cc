#include "host/manifest.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "base/testing.h"
#include "host/host_test_support.h"

namespace assay::host {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Backends : public ::testing::Test {
 protected:
  fs::path add(const std::string& name, const std::string& manifest) {
    fs::create_directories(root_ / name);
    EXPECT_THAT(write_file_atomic(root_ / name / "manifest.json", manifest), IsOk());
    return root_ / name;
  }
  static std::string minimal(const std::string& name) {
    return R"({"hardware_type": ")" + name +
           R"(", "library": "libx.so", "interface_major": 0, "description": "d"})";
  }

  const testing::ScratchFolder scratch_;
  const fs::path root_ = scratch_.path();
};

TEST_F(Backends, MinimalManifestTakesDefaults) {
  const auto manifest = read_manifest(add("XPU", minimal("XPU")));
  ASSERT_THAT(manifest, IsOk());
  EXPECT_EQ(manifest->hardware_type, "XPU");
  EXPECT_EQ(manifest->library_path(), fs::absolute(root_) / "XPU" / "libx.so");
  EXPECT_EQ(manifest->interface_major, 0U);
  EXPECT_EQ(manifest->worker_policy, WorkerPolicy::kPerPhase);
  EXPECT_EQ(manifest->licence_seats, std::nullopt);
  EXPECT_EQ(manifest->profile, "");
  EXPECT_TRUE(manifest->environment.empty());
  EXPECT_FALSE(manifest->exclusive_device);
  EXPECT_FALSE(manifest->internal);
}

TEST_F(Backends, EveryKeyIsRead) {
  const auto manifest = read_manifest(add("XPU", R"({
    // comments are accepted
    "hardware_type": "XPU", "library": "libx.so", "interface_major": 3, "description": "An XPU",
    "environment": {"XPU_LOG": "off"}, "exclusive_device": true, "startup_cost_ms": 1500,
    "licence_seats": 2, "worker_policy": "per_run", "profile": "ask.json", "internal": true,
  })"));
  ASSERT_THAT(manifest, IsOk());
  EXPECT_EQ(manifest->interface_major, 3U);
  EXPECT_EQ(manifest->description, "An XPU");
  EXPECT_EQ(manifest->environment.at("XPU_LOG"), "off");
  EXPECT_TRUE(manifest->exclusive_device);
  EXPECT_EQ(manifest->startup_cost_ms, 1500);
  EXPECT_EQ(manifest->licence_seats, 2);
  EXPECT_EQ(manifest->worker_policy, WorkerPolicy::kPerRun);
  EXPECT_EQ(manifest->profile_path(), fs::absolute(root_) / "XPU" / "ask.json");
  EXPECT_TRUE(manifest->internal);
}

TEST_F(Backends, ProfileNamedAfterTheHardwareIsFound) {
  const fs::path folder = add("XPU", minimal("XPU"));
  ASSERT_THAT(write_file_atomic(folder / "XPU.json", "[]"), IsOk());
  const auto manifest = read_manifest(folder);
  ASSERT_THAT(manifest, IsOk());
  EXPECT_EQ(manifest->profile, "XPU.json");
}

TEST_F(Backends, AllProblemsOfAManifestAreReportedAtOnce) {
  const auto manifest = read_manifest(add("XPU", R"({
    "hardware_type": "XPU", "library": "sub/libx.so", "description": "d",
    "worker_polcy": "per_run", "startup_cost_ms": "long"})"));
  EXPECT_THAT(manifest, StatusIs(StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("library"), HasSubstr("interface_major"),
                                       HasSubstr("worker_policy"), HasSubstr("startup_cost_ms"))));
}

TEST_F(Backends, ManifestOfAnotherHardwareIsRefused) {
  EXPECT_THAT(
      read_manifest(add("XPU", minimal("YPU"))),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("\"YPU\""), HasSubstr("\"XPU\""))));
}

TEST_F(Backends, FolderWithoutManifestIsNotFound) {
  fs::create_directories(root_ / "XPU");
  EXPECT_THAT(read_manifest(root_ / "XPU"), StatusIs(StatusCode::kNotFound, HasSubstr("manifest")));
}

TEST_F(Backends, AreListedByNameAndBrokenOnesStayInTheList) {
  add("B", minimal("B"));
  add("A", "{");
  fs::create_directories(root_ / "NOT_A_BACKEND");
  const auto found = find_backends({root_ / "missing", root_});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].hardware_type, "A");
  EXPECT_FALSE(found[0].manifest.ok());
  EXPECT_EQ(found[1].hardware_type, "B");
  EXPECT_THAT(found[1].manifest, IsOk());
}

TEST_F(Backends, EarlierSearchPathWins) {
  add("one/XPU", minimal("XPU"));
  add("two/XPU", minimal("XPU"));
  const auto found = find_backend("XPU", {root_ / "two", root_ / "one"});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->folder, fs::absolute(root_) / "two" / "XPU");
}

TEST_F(Backends, UnknownNameListsTheOthersAndHidesInternalOnes) {
  add("XPU", minimal("XPU"));
  add("NULL", R"({"hardware_type": "NULL", "library": "n.so", "interface_major": 0,
                  "description": "d", "internal": true})");
  for (const char* unknown : {"XPV", "xpu"}) {
    EXPECT_THAT(find_backend(unknown, {root_}),
                StatusIs(StatusCode::kNotFound,
                         AllOf(HasSubstr("known: XPU"), ::testing::Not(HasSubstr("NULL")))));
  }
  EXPECT_THAT(find_backend("NULL", {root_}), IsOk());
}

TEST_F(Backends, NoneAtAllSaysWhereWasLooked) {
  EXPECT_THAT(find_backend("CPU", {root_ / "nowhere"}),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere")));
}

TEST(SearchPaths, EnvironmentComesBeforeTheTreeOfTheProgram) {
  ASSERT_EQ(setenv("ASSAY_BACKENDS", "/a::/b c", 1), 0);
  const auto paths = backend_search_paths("/opt/assay/bin");
  unsetenv("ASSAY_BACKENDS");
  ASSERT_EQ(paths.size(), 4U);
  EXPECT_EQ(paths[0], "/a");
  EXPECT_EQ(paths[1], "/b c");
  EXPECT_EQ(paths[2].lexically_normal(), "/opt/assay/backends");
  EXPECT_EQ(paths[3].lexically_normal(), "/opt/assay/lib/assay/backends");
}

}  // namespace
}  // namespace assay::host
