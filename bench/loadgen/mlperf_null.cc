#include "mlperf_null.h"

#include <loadgen.h>
#include <query_sample_library.h>
#include <system_under_test.h>
#include <test_settings.h>

#include <vector>

#include "base/clock.h"

namespace assay::bench {
namespace {

class NullSystem : public mlperf::SystemUnderTest {
 public:
  explicit NullSystem(std::uint64_t queries) : queries_(queries) {}

  const std::string& Name() override { return name_; }
  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    if (++issued_ == 1) first_ns_ = now_ns();
    if (issued_ == queries_) last_ns_ = now_ns();
    mlperf::QuerySampleResponse response{samples[0].id, 0, 0};
    mlperf::QuerySamplesComplete(&response, 1);
  }
  void FlushQueries() override {}

  double ns_per_query() const {
    return static_cast<double>(last_ns_ - first_ns_) / static_cast<double>(queries_ - 1);
  }

 private:
  std::string name_ = "null";
  std::uint64_t queries_;
  std::uint64_t issued_ = 0;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
};

class NullLibrary : public mlperf::QuerySampleLibrary {
 public:
  const std::string& Name() override { return name_; }
  std::size_t TotalSampleCount() override { return 1024; }
  std::size_t PerformanceSampleCount() override { return 1024; }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>&) override {}
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>&) override {}

 private:
  std::string name_ = "null";
};

}  // namespace

double mlperf_ns_per_query(std::uint64_t queries, const std::string& log_folder) {
  NullSystem system(queries);
  NullLibrary library;
  mlperf::TestSettings settings;
  settings.scenario = mlperf::TestScenario::SingleStream;
  settings.mode = mlperf::TestMode::PerformanceOnly;
  settings.min_duration_ms = 0;
  settings.min_query_count = queries;
  settings.max_query_count = queries;
  mlperf::LogSettings logs;
  logs.log_output.outdir = log_folder;
  logs.log_output.copy_summary_to_stdout = false;
  mlperf::StartTest(&system, &library, settings, logs);
  return system.ns_per_query();
}

}  // namespace assay::bench
