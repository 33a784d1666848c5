#include "loadgen/host_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace assay::loadgen {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(HostParse, ProcStatSumsBusyIdleAndSteal) {
  const auto times = parse_proc_stat("cpu  100 1 20 3000 40 5 6 7 50 0\ncpu0 1 1 1 1\n");
  // busy 100+1+20+5+6, idle 3000+40; guest time (50) is within user.
  EXPECT_EQ(times, (CpuTimes{.busy_ticks = 132, .idle_ticks = 3040, .steal_ticks = 7}));
}

TEST(HostParse, ProcStatOfAnOldKernelHasNoSteal) {
  EXPECT_EQ(parse_proc_stat("cpu  1 2 3 4\n"), (CpuTimes{6, 4, 0}));
}

TEST(HostParse, ProcStatOfAnotherFormIsRefused) {
  for (const char* text : {"", "cpu", "cpu0 1 2 3 4", "cpu  1 2 x 4", "intr 5"}) {
    EXPECT_EQ(parse_proc_stat(text), std::nullopt) << text;
  }
}

TEST(HostParse, PressureTakesTheTotalOfSome) {
  EXPECT_EQ(parse_pressure_some_us("some avg10=3.65 avg60=1.40 avg300=1.04 total=13540919\n"
                                   "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"),
            13'540'919U);
  EXPECT_EQ(parse_pressure_some_us("full avg10=0.00 total=9\n"), std::nullopt);
  EXPECT_EQ(parse_pressure_some_us("some avg10=0.00\ntotal=9\n"), std::nullopt);
  EXPECT_EQ(parse_pressure_some_us("some total=\n"), std::nullopt);
}

TEST(HostParse, LoadavgTakesTheFirstNumber) {
  EXPECT_DOUBLE_EQ(parse_loadavg("0.52 0.40 0.31 2/345 678\n").value(), 0.52);
  EXPECT_EQ(parse_loadavg("n/a"), std::nullopt);
  EXPECT_EQ(parse_loadavg("-1 0 0"), std::nullopt);
  EXPECT_EQ(parse_loadavg("inf 0 0"), std::nullopt);
}

TEST(HostParse, CounterIsOneNumber) {
  EXPECT_EQ(parse_counter("2400000\n"), 2'400'000U);
  EXPECT_EQ(parse_counter("<unknown>\n"), std::nullopt);
}

// A quiet second on four CPUs of which this process used one.
HostSnapshot opened() {
  return {.at_ns = 0,
          .cpus = 4,
          .cpu = CpuTimes{1000, 1000, 0},
          .own_cpu_ns = 0,
          .cpu_pressure_us = 0,
          .memory_pressure_us = 0,
          .io_pressure_us = 0,
          .loadavg_1min = 1.0,
          .frequencies_khz = {3'000'000, 3'000'000},
          .throttle_events = 5};
}

HostSnapshot closed() {
  HostSnapshot snapshot = opened();
  snapshot.at_ns = 1'000'000'000;
  snapshot.cpu = CpuTimes{1100, 1300, 0};  // 100 ticks a second and CPU
  snapshot.own_cpu_ns = 1'000'000'000;
  return snapshot;
}

TEST(HostWatch, AQuietWindowIsQuiet) {
  const HostWatch watch = compare_host(opened(), closed(), 1);
  EXPECT_THAT(watch.noise, IsEmpty());
  EXPECT_THAT(watch.unwatched, IsEmpty());
  EXPECT_FALSE(watch.noisy());
  EXPECT_DOUBLE_EQ(watch.steal_share.value(), 0);
  EXPECT_DOUBLE_EQ(watch.other_load_share.value(), 0);
  EXPECT_DOUBLE_EQ(watch.frequency_mhz.value(), 3000);
}

TEST(HostWatch, NamesEachDisturbance) {
  struct Case {
    const char* says;
    void (*disturb)(HostSnapshot&);
  };
  const Case cases[] = {
      {"stolen by the hypervisor: 5.0 %", [](HostSnapshot& s) { s.cpu = {1100, 1280, 20}; }},
      {"other processes: 25.0 %", [](HostSnapshot& s) { s.cpu = {1200, 1200, 0}; }},
      {"waited for a CPU: 20.0 %", [](HostSnapshot& s) { s.cpu_pressure_us = 200'000; }},
      {"waited for memory: 2.0 %", [](HostSnapshot& s) { s.memory_pressure_us = 20'000; }},
      {"waited for a disk: 10.0 %", [](HostSnapshot& s) { s.io_pressure_us = 100'000; }},
      {"CPU frequency: -50.0 %",
       [](HostSnapshot& s) { s.frequencies_khz = {1'500'000, 1'500'000}; }},
      {"2 thermal throttling", [](HostSnapshot& s) { s.throttle_events = 7; }},
  };
  for (const Case& c : cases) {
    HostSnapshot after = closed();
    c.disturb(after);
    EXPECT_THAT(compare_host(opened(), after, 1).noise, ElementsAre(HasSubstr(c.says)));
  }
}

TEST(HostWatch, OurOwnThreadsWaitingForCpusIsNotTheHostsNoise) {
  HostSnapshot after = closed();
  after.cpu_pressure_us = 900'000;
  EXPECT_TRUE(compare_host(opened(), after, 4).noisy());
  EXPECT_FALSE(compare_host(opened(), after, 5).noisy());
}

TEST(HostWatch, WhatTheHostDoesNotTellIsNamedAndIsNoNoise) {
  const HostSnapshot bare{.at_ns = 1, .cpus = 1};
  const HostWatch watch = compare_host(bare, bare, 1);
  EXPECT_FALSE(watch.noisy());
  EXPECT_EQ(watch.unwatched.size(), 7U);
  EXPECT_THAT(watch.unwatched, Contains("thermal throttling"));
}

TEST(HostWatch, CountersThatFallTellNothing) {
  HostSnapshot after = closed();
  after.cpu = CpuTimes{0, 0, 0};
  after.throttle_events = 0;
  const HostWatch watch = compare_host(opened(), after, 1);
  EXPECT_EQ(watch.steal_share, std::nullopt);
  EXPECT_EQ(watch.throttle_events, std::nullopt);
}

TEST(HostWatch, ReadsTheFilesThatAreThere) {
  const std::filesystem::path root = std::filesystem::path(::testing::TempDir()) / "host_watch";
  std::filesystem::create_directories(root / "proc/pressure");
  std::filesystem::create_directories(root / "sys/devices/system/cpu/cpu0/cpufreq");
  std::ofstream(root / "proc/stat") << "cpu  1 0 0 9 0 0 0 0 0 0\n";
  std::ofstream(root / "proc/pressure/io") << "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n";
  std::ofstream(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq") << "1800000\n";
  const HostSnapshot snapshot = take_host_snapshot(root);
  EXPECT_EQ(snapshot.cpu, (CpuTimes{1, 9, 0}));
  EXPECT_EQ(snapshot.io_pressure_us, 77U);
  EXPECT_EQ(snapshot.cpu_pressure_us, std::nullopt);
  EXPECT_EQ(snapshot.loadavg_1min, std::nullopt);
  EXPECT_THAT(snapshot.frequencies_khz, ElementsAre(1'800'000U));
  EXPECT_EQ(snapshot.throttle_events, std::nullopt);
  EXPECT_GE(snapshot.cpus, 1U);
  std::filesystem::remove_all(root);
}

TEST(HostWatch, AHostWithoutAnyFileIsFine) {
  const HostSnapshot snapshot = take_host_snapshot("/nonexistent");
  EXPECT_EQ(snapshot.cpu, std::nullopt);
  EXPECT_GT(snapshot.at_ns, 0);
}

TEST(HostWatch, SurvivesTheTripThroughJson) {
  HostSnapshot after = closed();
  after.throttle_events = 7;
  after.frequencies_khz.clear();
  const HostWatch watch = compare_host(opened(), after, 1);
  const Json json = Json::parse(to_json(watch).dump());
  const HostWatch back = host_watch_from_json(json).value();
  EXPECT_EQ(to_json(back), to_json(watch));
  EXPECT_EQ(host_watch_from_json(Json::parse("{\"noise\": 3}")).has_value(), false);
  EXPECT_EQ(host_watch_from_json(Json::parse("[]")).has_value(), false);
}

}  // namespace
}  // namespace assay::loadgen
