#include "controller/compile_events.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "dataset/generated.h"

namespace assay::controller {
namespace {

class Watcher : public RunObserver {
 public:
  void progress(std::uint64_t done, std::uint64_t total, const char* unit) override {
    shares.push_back(std::to_string(done) + "/" + std::to_string(total) + unit);
  }
  void stage(const std::string& what) override { stages.push_back(what); }

  std::vector<std::string> shares;
  std::vector<std::string> stages;
};

std::unique_ptr<dataset::Dataset> two_samples() {
  dataset::GeneratedOptions options;
  options.inputs = {{"x", DType::kFloat32, {1, 4}}};
  options.samples = 2;
  return std::move(dataset::make_generated(options)).value();
}

TEST(CompileEvents, CountsTheSamplesThatWereRead) {
  const auto data = two_samples();
  Watcher watcher;
  CompileEvents events(data.get(), watcher);
  ASSERT_TRUE(events.open().ok());
  EXPECT_EQ(events.samples_read(), 0U);
  EXPECT_TRUE(events.on_event({{"event", "calibration"}, {"index", 1}}).empty());
  EXPECT_EQ(events.samples_read(), 1U);
  EXPECT_TRUE(events.on_event({{"event", "calibration"}, {"index", 2}}).contains("error"));
  EXPECT_TRUE(events.on_event({{"event", "calibration"}, {"index", "one"}}).contains("error"));
  EXPECT_EQ(events.samples_read(), 1U);
  EXPECT_EQ(events.description(true).at("count"), 2);
}

TEST(CompileEvents, ProgressReachesTheObserver) {
  Watcher watcher;
  CompileEvents events(nullptr, watcher);
  ASSERT_TRUE(events.open().ok());
  EXPECT_EQ(events.fd(), -1);
  events.on_event({{"event", "progress"}, {"done", 0.25}, {"stage", "quantising"}});
  events.on_event({{"event", "progress"}, {"done", 7}, {"stage", "writing"}});
  events.on_event({{"event", "progress"}, {"done", "half"}, {"stage", nullptr}});
  EXPECT_EQ(watcher.shares, (std::vector<std::string>{"25/100%", "100/100%"}));
  EXPECT_EQ(watcher.stages, (std::vector<std::string>{"quantising", "writing"}));
  EXPECT_TRUE(events.on_event({{"event", "calibration"}, {"index", 0}}).contains("error"));
}

}  // namespace
}  // namespace assay::controller
