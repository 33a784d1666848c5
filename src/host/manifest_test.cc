#include "host/manifest.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "base/testing.h"
#include "host/host_test_support.h"
#include "host/support.h"

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

TEST_F(Backends, WhatIsNotDeclaredIsSupported) {
  const auto support = read_support(add("XPU", minimal("XPU")));
  ASSERT_THAT(support, IsOk());
  EXPECT_TRUE(support->takes_format("onnx"));
  EXPECT_TRUE(support->takes_dtype(DType::kFloat8E4M3));
  EXPECT_TRUE(support->takes_rank(8));
  EXPECT_TRUE(support->dynamic_batch);
  EXPECT_TRUE(support->empty_tensors);
}

TEST_F(Backends, WhatIsDeclaredIsAllThatIsSupported) {
  const fs::path folder = add("XPU", R"({
    "hardware_type": "XPU", "library": "libx.so", "interface_major": 0, "description": "d",
    "model_formats": [], "dtypes": ["FLOAT32", "INT8"], "ranks": [2, 4], "dynamic_batch": false,
    "empty_tensors": false})");
  ASSERT_THAT(read_manifest(folder), IsOk());
  const auto support = read_support(folder);
  ASSERT_THAT(support, IsOk());
  EXPECT_FALSE(support->takes_format("onnx"));
  EXPECT_TRUE(support->takes_dtype(DType::kInt8));
  EXPECT_FALSE(support->takes_dtype(DType::kInt16));
  EXPECT_TRUE(support->takes_rank(4));
  EXPECT_FALSE(support->takes_rank(3));
  EXPECT_FALSE(support->dynamic_batch);
  EXPECT_FALSE(support->empty_tensors);
}

TEST_F(Backends, UnknownDtypeOfAManifestIsRefused) {
  EXPECT_THAT(read_manifest(add("XPU", R"({
    "hardware_type": "XPU", "library": "libx.so", "interface_major": 0, "description": "d",
    "dtypes": ["FLOAT31"]})")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("FLOAT31")));
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

TEST_F(Backends, PythonManifestNamesNoLibraryAndSharesAWorker) {
  const auto manifest = read_manifest(add("XPU", R"({
    "hardware_type": "XPU", "language": "python", "description": "d"})"));
  ASSERT_THAT(manifest, IsOk());
  EXPECT_EQ(manifest->language, Language::kPython);
  EXPECT_EQ(manifest->worker_policy, WorkerPolicy::kPerRun);
  EXPECT_THAT(read_manifest(add("YPU", R"({"hardware_type": "YPU", "language": "python",
                                           "library": "liby.so", "description": "d"})")),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("library"), HasSubstr("which has none"))));
  EXPECT_THAT(read_manifest(add("ZPU", R"({"hardware_type": "ZPU", "language": "rust",
                                           "description": "d"})")),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("language"), ::testing::Not(HasSubstr("library")))));
}

TEST_F(Backends, PublishedPythonFolderNeedsNoManifest) {
  fs::create_directories(root_ / "Xpu2");
  ASSERT_THAT(write_file_atomic(root_ / "Xpu2" / "compile_backend_xpu2.py", ""), IsOk());
  ASSERT_THAT(write_file_atomic(root_ / "Xpu2" / "Xpu2.json", "[]"), IsOk());
  const auto found = find_backend("Xpu2", {root_});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->language, Language::kPython);
  EXPECT_EQ(found->worker_policy, WorkerPolicy::kPerRun);
  EXPECT_EQ(found->profile, "Xpu2.json");
  EXPECT_FALSE(fs::exists(root_ / "Xpu2" / "manifest.json"));
  for (const char* own : {R"({"resnet50": {"best_batch": 8}})", "best_batch = 8", ""}) {
    ASSERT_THAT(write_file_atomic(root_ / "Xpu2" / "Xpu2.json", own), IsOk());
    EXPECT_EQ(find_backend("Xpu2", {root_})->profile, "") << own;
  }
  EXPECT_THAT(find_backend("XPU2", {root_}),
              StatusIs(StatusCode::kNotFound, HasSubstr("known: Xpu2")));
}

TEST_F(Backends, PathMayNameABackendOrTheFolderOfSeveral) {
  add("XPU", minimal("XPU"));
  const fs::path root = fs::absolute(root_).lexically_normal();
  EXPECT_EQ(search_path_of(root_ / "XPU").value(), root);
  EXPECT_EQ(search_path_of(root_ / "XPU" / "").value(), root);
  EXPECT_EQ(search_path_of(root_).value(), root);
  fs::create_directories(root_ / "other" / "empty");
  EXPECT_THAT(search_path_of(root_ / "other"),
              StatusIs(StatusCode::kNotFound, HasSubstr("compile_backend_")));
  EXPECT_THAT(search_path_of(root_ / "nowhere"),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere")));
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
