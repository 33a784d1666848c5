#include "controller/raw_record.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "loadgen/record.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

class RawRecord : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("raw_record_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    bytes_ = loadgen::required_bytes(kShape).value();
    memory_ = static_cast<std::byte*>(::operator new(bytes_, std::align_val_t{64}));
  }
  void TearDown() override {
    ::operator delete(memory_, std::align_val_t{64});
    fs::remove_all(folder_);
  }

  loadgen::Recorder recorder() {
    return loadgen::Recorder::create({memory_, bytes_}, kShape).value();
  }
  Json kept() {
    const fs::path record = folder_ / "b1-r0.record";
    const std::string_view text(reinterpret_cast<const char*>(memory_), bytes_);
    EXPECT_TRUE(write_file_atomic(record, text).ok());
    Json kept = Json::array();
    const Status status = keep_latencies({record}, folder_, kept);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return kept;
  }

  static constexpr loadgen::RecordShape kShape{1, 16};
  fs::path folder_;
  std::size_t bytes_ = 0;
  std::byte* memory_ = nullptr;
};

TEST_F(RawRecord, AWindowThatEndedHasItsLength) {
  loadgen::Recorder writer = recorder();
  writer.set_window_start(1000);
  writer.set_window_end(5000, loadgen::EndReason::kWorkDone);
  const Json entry = kept().at(0);
  EXPECT_EQ(entry.at("window_ns"), 4000);
  EXPECT_FALSE(entry.contains("why"));
}

TEST_F(RawRecord, AWindowThatDidNotEndHasNoneAndSaysWhy) {
  loadgen::Recorder writer = recorder();
  Json entry = kept().at(0);
  EXPECT_TRUE(entry.at("window_ns").is_null());
  EXPECT_TRUE(entry.at("window_start_ns").is_null());
  EXPECT_EQ(entry.at("why"), "the window never opened");
  writer.set_window_start(1000);
  entry = kept().at(0);
  EXPECT_TRUE(entry.at("window_ns").is_null());
  EXPECT_EQ(entry.at("window_start_ns"), 1000);
  EXPECT_TRUE(entry.at("window_end_ns").is_null());
  EXPECT_EQ(entry.at("why"), "the worker ended inside the window");
}

TEST_F(RawRecord, ARecordThatCannotBeReadIsKeptAsItIs) {
  std::fill(memory_, memory_ + bytes_, std::byte{0});
  const Json entry = kept().at(0);
  EXPECT_EQ(entry.at("path"), "raw/b1-r0.record");
  EXPECT_NE(entry.at("what").get<std::string>().find("unreadable"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "b1-r0.record"));
}

}  // namespace
}  // namespace assay::controller
