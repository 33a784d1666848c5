#include "workload/task_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing.h"

namespace assay::workload {
namespace {

namespace fs = std::filesystem;
using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TaskListingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "task_listing.XXXXXX").native();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    write("net.json", R"({"model": "net", "model_path": "net.onnx", "framework": "Onnx",
      "model_format": "onnx", "inputs": "x", "outputs": "y", "input_shape": {"x": [1, 4]},
      "input_type": "FLOAT32", "dataset_name": "rows", "model_precision": "INT8",
      "metric": {"name": "top1"}})");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
  }
  Result<TaskListing> describe(const std::string& workload) const {
    write("task.json", workload);
    return describe_task(root_ / "task.json", {root_, {}});
  }

  fs::path root_;
};

TEST_F(TaskListingTest, SaysModelDataAndWhatIsExpected) {
  const auto listing = describe(R"({"model": "net", "expected": {"top1": 0.925, "top5": 0.99}})");
  ASSERT_THAT(listing, IsOk());
  EXPECT_EQ(listing->model, "net");
  EXPECT_EQ(listing->format, "onnx");
  EXPECT_EQ(listing->precision, "INT8");
  EXPECT_EQ(listing->dataset, "rows");
  EXPECT_EQ(listing->metric, "top1");
  EXPECT_THAT(
      listing->expected,
      ElementsAre(
          AllOf(Field(&ExpectedFigure::metric, "top1"), Field(&ExpectedFigure::value, 0.925)),
          AllOf(Field(&ExpectedFigure::metric, "top5"), Field(&ExpectedFigure::value, 0.99))));
  EXPECT_FALSE(listing->model_found);
  write("net.onnx", "");
  EXPECT_TRUE(describe(R"({"model": "net"})")->model_found);
}

TEST_F(TaskListingTest, LeavesOutWhatTheFilesDoNotSay) {
  write("net.json", R"({"model": "net", "model_path": "net.onnx", "framework": "Onnx",
    "model_format": "onnx", "inputs": "x", "input_shape": {"x": [1, 4]}, "input_type": "FLOAT32"})");
  const auto listing = describe(R"({"model": "net"})");
  ASSERT_THAT(listing, IsOk());
  EXPECT_EQ(listing->precision, "");
  EXPECT_EQ(listing->dataset, "generated");
  EXPECT_EQ(listing->metric, "");
  EXPECT_THAT(listing->expected, IsEmpty());
}

TEST_F(TaskListingTest, AFigureIsANumber) {
  EXPECT_THAT(describe(R"({"model": "net", "expected": {"top1": "high"}})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("expected.top1")));
}

TEST_F(TaskListingTest, NamesAModelInfoThatIsMissing) {
  EXPECT_THAT(describe(R"({"model": "nut"})"),
              StatusIs(StatusCode::kNotFound, HasSubstr("nut.json")));
}

}  // namespace
}  // namespace assay::workload
