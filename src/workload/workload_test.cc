#include "workload/workload.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/testing.h"

namespace assay::workload {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

Result<Workload> parse(std::string_view text) {
  auto file = JsonFile::parse(text, "workloads/x.json");
  if (!file.ok()) return file.status();
  return parse_workload(*file);
}

std::string error_of(std::string_view text) { return parse(text).status().message(); }

TEST(Workload, NeedsNothingButAModel) {
  const auto workload = parse(R"({"model": "m"})");
  ASSERT_THAT(workload, IsOk());
  EXPECT_EQ(workload->model, "m");
  EXPECT_TRUE(workload->test_perf && workload->test_accuracy && workload->test_numeric &&
              workload->test_stability);
  EXPECT_EQ(workload->clients, 1);
  EXPECT_EQ(workload->iterations, 100);
  EXPECT_FALSE(workload->exact_iterations);
  EXPECT_EQ(workload->max_duration_s, 60);
  EXPECT_EQ(workload->batch_sizes, std::nullopt);
  EXPECT_FALSE(workload->fake_data);
  EXPECT_EQ(workload->data_percent, 100);
  EXPECT_FALSE(workload->compile_only);
  EXPECT_TRUE(workload->scenarios.empty());
  EXPECT_EQ(to_json(workload->criteria), Json::object());
}

TEST(Workload, ReadsEveryKey) {
  const auto workload = parse(R"({
    "$schema": "../schemas/workload.schema.json",
    "model": "m", "test_perf": true, "test_accuracy": true, "test_numeric": true,
    "test_stability": true, "clients": 3, "iterations": 20, "exact_iterations": true,
    "max_duration_s": 1.5, "batch_sizes": [1, 8], "fake_data": true, "data_percent": 12.5,
    "compile_only": true,
    "scenarios": [{"name": "Server", "target_qps": 50, "latency_bound_ms": 4, "percentile": 99,
                   "samples_per_query": 1, "duration_s": 10}],
    "criteria": {"accuracy": {"min": 0.9, "min_relative": 0.99}, "numeric": {"atol": 0, "rtol": 1e-3},
                 "stability": "bit_stable", "latency": {"p50_ms": 2, "p99_ms": 4.5}, "min_qps": 10}
  })");
  ASSERT_THAT(workload, IsOk());
  EXPECT_EQ(workload->clients, 3);
  EXPECT_EQ(workload->iterations, 20);
  EXPECT_TRUE(workload->exact_iterations);
  EXPECT_EQ(workload->max_duration_s, 1.5);
  EXPECT_THAT(workload->batch_sizes, Optional(ElementsAre(1, 8)));
  EXPECT_TRUE(workload->fake_data);
  EXPECT_EQ(workload->data_percent, 12.5);
  EXPECT_TRUE(workload->compile_only);
  ASSERT_EQ(workload->scenarios.size(), 1U);
  EXPECT_EQ(workload->scenarios[0].name, "Server");
  EXPECT_EQ(workload->scenarios[0].target_qps, 50);
  EXPECT_EQ(workload->criteria.accuracy.min, 0.9);
  EXPECT_EQ(workload->criteria.accuracy.min_relative, 0.99);
  EXPECT_EQ(workload->criteria.numeric.atol, 0);
  EXPECT_EQ(workload->criteria.numeric.rtol, 1e-3);
  EXPECT_EQ(workload->criteria.stability, StabilityCriterion::kBitStable);
  ASSERT_EQ(workload->criteria.latency.size(), 2U);
  EXPECT_EQ(workload->criteria.latency[1].statistic, "p99");
  EXPECT_EQ(workload->criteria.latency[1].max_ms, 4.5);
  EXPECT_EQ(workload->criteria.min_qps, 10);
}

TEST(Workload, ComesBackFromItsJsonUnchanged) {
  const auto workload = parse(R"({"model": "m", "clients": 2, "batchsizes": [4],
      "scenarios": [{"name": "Offline"}],
      "criteria": {"accuracy": {"min": 0.5}, "latency": {"max_ms": 7}, "stability": "none"}})");
  ASSERT_THAT(workload, IsOk());
  const auto again = parse_workload(JsonFile::from_value(to_json(*workload), "again"));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(to_json(*again), to_json(*workload));
  EXPECT_EQ(to_json(*workload)["batch_sizes"], Json({4}));
}

TEST(Workload, TakesBothSpellingsOfBatchSizesButNotAtOnce) {
  EXPECT_THAT(parse(R"({"model": "m", "batchsizes": [1, 4]})")->batch_sizes,
              Optional(ElementsAre(1, 4)));
  EXPECT_EQ(error_of("{\"model\": \"m\",\n\"batch_sizes\": [1],\n\"batchsizes\": [1]}"),
            "workloads/x.json:3:1: \"batchsizes\": given as \"batch_sizes\" too; accepted: one of "
            "the two spellings");
}

struct Case {
  const char* text;
  const char* message;
};

class BadWorkload : public ::testing::TestWithParam<Case> {};

TEST_P(BadWorkload, IsRefusedWithPlaceKeyFoundAndAccepted) {
  EXPECT_EQ(error_of(GetParam().text), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadWorkload,
    ::testing::Values(
        Case{"", "workloads/x.json:1:1: the file is empty, accepted: an object"},
        Case{"[]", "workloads/x.json:1:1: found an empty list, accepted: an object"},
        Case{"{\n\"model\": \"m\"\n\"clients\": 1}",
             "workloads/x.json:3:1: found \"clients\", expected ',' or '}'"},
        Case{"{}",
             "workloads/x.json:1:1: \"model\": missing, accepted: the name of a file in "
             "model_zoo/, without .json"},
        Case{"{\"model\": \"m\",\n  \"client\": 3}",
             "workloads/x.json:2:3: \"client\": unknown key (did you mean \"clients\"?)"},
        Case{"{\"model\": \"m\", \"model\": \"n\"}",
             "workloads/x.json:1:16: \"model\": duplicate key, already given on line 1"},
        Case{
            "{\"model\": \"m\", \"clients\": \"3\"}",
            "workloads/x.json:1:27: \"clients\": found text \"3\", accepted: a whole number from 1 "
            "to 4096"},
        Case{"{\"model\": \"m\", \"test_perf\": 1}",
             "workloads/x.json:1:29: \"test_perf\": found 1, accepted: true or false"},
        Case{"{\"model\": \"m\", \"iterations\": 0}",
             "workloads/x.json:1:30: \"iterations\": found 0, accepted: a whole number from 1 to "
             "1000000000"},
        Case{"{\"model\": \"m\", \"batch_sizes\": [1, 0]}",
             "workloads/x.json:1:35: \"batch_sizes[1]\": found 0, accepted: a whole number from 1 "
             "to 1000000000"},
        Case{"{\"model\": \"m\", \"data_percent\": 0}",
             "workloads/x.json:1:32: \"data_percent\": found 0, accepted: a number from 1 to 100"},
        Case{
            "{\"model\": \"m\", \"data_percent\": 101}",
            "workloads/x.json:1:32: \"data_percent\": found 101, accepted: a number from 1 to 100"},
        Case{"{\"model\": \"m\", \"max_duration_s\": 0}",
             "workloads/x.json:1:34: \"max_duration_s\": found 0, accepted: a number from 0.001 "
             "to 86400"},
        Case{"{\"model\": \"m\", \"scenarios\": [{\"name\": \"Sever\"}]}",
             "workloads/x.json:1:39: \"scenarios[0].name\": found text \"Sever\", accepted: "
             "\"SingleStream\", \"MultiStream\", \"Offline\", \"Server\", \"ConstantRate\" or "
             "\"Search\" (did you mean \"Server\"?)"},
        Case{"{\"model\": \"m\", \"criteria\": {\"accuracy\": {\"min_relative\": 99}}}",
             "workloads/x.json:1:58: \"criteria.accuracy.min_relative\": found 99, accepted: a "
             "number above 0 and at most 1"},
        Case{"{\"model\": \"m\", \"criteria\": {\"latency\": {\"p99\": 5}}}",
             "workloads/x.json:1:41: \"criteria.latency.p99\": unknown key, accepted: mean_ms, "
             "p50_ms, p90_ms, p95_ms, p99_ms, p999_ms, max_ms"},
        Case{
            "{\"model\": \"m\", \"criteria\": {\"latency\": {\"p99_ms\": 5, \"p50_ms\": 9}}}",
            "workloads/x.json:1:51: \"criteria.latency.p99_ms\": found 5, accepted: at least the 9 "
            "of p50_ms, since p99 is never below p50"},
        Case{"{\"model\": \"m\", \"test_accuracy\": false, \"criteria\": {\"accuracy\": {\"min\": "
             "1}}}",
             "workloads/x.json:1:53: \"criteria.accuracy\": cannot be judged, since "
             "\"test_accuracy\" is false"},
        Case{"{\"model\": \"m\", \"test_perf\": false, \"test_accuracy\": false, \"test_numeric\": "
             "false, \"test_stability\": false}",
             "workloads/x.json:1:1: measures nothing: test_perf, test_accuracy, test_numeric, "
             "test_stability and compile_only are all false, accepted: at least one true"}));

TEST(Workload, ReportsEveryProblemAtOnce) {
  EXPECT_EQ(error_of("{\"clients\": 0,\n\"iteration\": 5,\n\"fake_data\": \"no\"}"),
            "workloads/x.json:1:1: \"model\": missing, accepted: the name of a file in model_zoo/, "
            "without .json\n"
            "workloads/x.json:1:13: \"clients\": found 0, accepted: a whole number from 1 to "
            "4096\n"
            "workloads/x.json:2:1: \"iteration\": unknown key (did you mean \"iterations\"?)\n"
            "workloads/x.json:3:14: \"fake_data\": found text \"no\", accepted: true or false");
}

TEST(Workload, IsNamedAfterItsFile) {
  const std::string path = ::testing::TempDir() + "/my t\xC3\xA4sk.json";
  std::ofstream(path) << R"({"model": "m"})";
  const auto workload = load_workload(path);
  ASSERT_THAT(workload, IsOk());
  EXPECT_EQ(workload->task, "my t\xC3\xA4sk");
  EXPECT_EQ(workload->file, path);
  EXPECT_THAT(load_workload(path + "x"), StatusIs(StatusCode::kNotFound, HasSubstr("cannot open")));
}

TEST(ListTasks, NamesTheJsonFilesOfAFolderInOrder) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "tasks";
  std::filesystem::create_directories(folder);
  for (const char* name : {"b.json", "a.json", "readme.md"}) std::ofstream(folder / name) << "{}";
  const auto tasks = list_tasks(folder);
  ASSERT_THAT(tasks, IsOk());
  EXPECT_THAT(*tasks, ElementsAre("a", "b"));
  EXPECT_THAT(list_tasks(folder / "none"), StatusIs(StatusCode::kNotFound, HasSubstr("none")));
}

}  // namespace
}  // namespace assay::workload
