#include "controller/device_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/testing.h"

namespace assay::controller {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;

class DeviceLockTest : public ::testing::Test {
 protected:
  Result<DeviceLock> take(const std::string& device) {
    return DeviceLock::take(folder_, device, stop_,
                            [this](const std::string& text) { said_.push_back(text); });
  }

  fs::path folder_ = fs::path(::testing::TempDir()) /
                     ("device_lock_" +
                      std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
  std::atomic<bool> stop_{false};
  std::vector<std::string> said_;
};

TEST_F(DeviceLockTest, DevicesDoNotKeepEachOtherWaiting) {
  const Result<DeviceLock> cpu = take("CPU");
  ASSERT_THAT(cpu, IsOk());
  EXPECT_THAT(take("OTHER"), IsOk());
  EXPECT_TRUE(said_.empty());
}

TEST_F(DeviceLockTest, AWaitingRunSaysForWhomAndCanBeInterrupted) {
  const Result<DeviceLock> first = take("CPU");
  ASSERT_THAT(first, IsOk());
  stop_ = true;
  EXPECT_EQ(take("CPU").status().code(), StatusCode::kCancelled);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_[0],
            "CPU is in use by process " + std::to_string(::getpid()) + "; waiting for it to end");
}

TEST_F(DeviceLockTest, AWaitingRunGoesOnWhenTheLockIsFree) {
  Result<DeviceLock> first = take("CPU");
  ASSERT_THAT(first, IsOk());
  std::optional<DeviceLock> held(std::move(first).value());
  const std::jthread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    held.reset();
  });
  EXPECT_THAT(take("CPU"), IsOk());
  EXPECT_EQ(said_.size(), 1U);
}

}  // namespace
}  // namespace assay::controller
