#include "report/host_facts.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace assay::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr std::string_view kTwoSockets =
    "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU @ 2.00GHz\n"
    "physical id\t: 0\nsiblings\t: 4\ncpu cores\t: 2\nflags\t\t: fpu avx2 fma hypervisor\n\n"
    "processor\t: 1\nmodel name\t: Some CPU @ 2.00GHz\nphysical id\t: 1\n";

TEST(ParseCpuinfo, ReadsTheFirstProcessorAndCountsAll) {
  const CpuInfo info = parse_cpuinfo(kTwoSockets);
  EXPECT_THAT(info.model, Optional(std::string("Some CPU @ 2.00GHz")));
  EXPECT_THAT(info.vendor, Optional(std::string("GenuineIntel")));
  EXPECT_EQ(info.processors, 2);
  EXPECT_THAT(info.sockets, Optional(2));
  EXPECT_THAT(info.threads_per_core, Optional(2));
  EXPECT_TRUE(info.hypervisor);
  EXPECT_THAT(info.flags, ElementsAre("fpu", "avx2", "fma", "hypervisor"));
}

TEST(ParseCpuinfo, ArmNamesNoModelAndCallsFlagsFeatures) {
  const CpuInfo info =
      parse_cpuinfo("processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\n");
  EXPECT_EQ(info.model, std::nullopt);
  EXPECT_THAT(info.vendor, Optional(std::string("0x41")));
  EXPECT_THAT(info.flags, ElementsAre("fp", "asimd", "sve"));
}

TEST(ParseCpuinfo, AnyOtherTextSaysNothing) {
  for (const std::string_view text : {"", "\n\n", ":::", "model name : x", "processor", "\0:\0"}) {
    EXPECT_EQ(parse_cpuinfo(text), CpuInfo{}) << text;
  }
}

TEST(NumericFlags, KeepsWhatChangesArithmeticInAFixedOrder) {
  EXPECT_THAT(numeric_flags({"fma", "vme", "avx2", "amx_bf16"}),
              ElementsAre("avx2", "fma", "amx_bf16"));
}

TEST(ParseMeminfo, TakesTheTotalInBytes) {
  EXPECT_THAT(parse_meminfo_total_bytes("MemFree: 1 kB\nMemTotal:       2048 kB\n"),
              Optional(std::uint64_t{2097152}));
  EXPECT_EQ(parse_meminfo_total_bytes("MemTotal: many kB\n"), std::nullopt);
  EXPECT_EQ(parse_meminfo_total_bytes("MemTotal: 99999999999999999999 kB\n"), std::nullopt);
  EXPECT_EQ(parse_meminfo_total_bytes(""), std::nullopt);
}

TEST(ParseOsRelease, TakesThePrettyNameWithOrWithoutQuotes) {
  EXPECT_THAT(parse_os_release_name("ID=x\nPRETTY_NAME=\"Some Linux 12\"\n"),
              Optional(std::string("Some Linux 12")));
  EXPECT_THAT(parse_os_release_name("PRETTY_NAME=Plain"), Optional(std::string("Plain")));
  EXPECT_EQ(parse_os_release_name("PRETTY_NAME=\"\""), std::nullopt);
  EXPECT_EQ(parse_os_release_name("NAME=x"), std::nullopt);
}

TEST(ParseSelected, TakesTheWordInBrackets) {
  EXPECT_THAT(parse_selected("always [madvise] never\n"), Optional(std::string("madvise")));
  EXPECT_EQ(parse_selected("always"), std::nullopt);
  EXPECT_EQ(parse_selected("] ["), std::nullopt);
}

TEST(ParseCpuList, CountsRangesAndSingles) {
  EXPECT_THAT(parse_cpu_list_count("0-3,8\n"), Optional(5));
  EXPECT_THAT(parse_cpu_list_count("0"), Optional(1));
  EXPECT_EQ(parse_cpu_list_count(""), std::nullopt);
  EXPECT_EQ(parse_cpu_list_count("3-0"), std::nullopt);
  EXPECT_EQ(parse_cpu_list_count("a-b"), std::nullopt);
}

// A root with the files given, gone afterwards.
class FakeRoot {
 public:
  explicit FakeRoot(const std::string& name)
      : path_(std::filesystem::path(::testing::TempDir()) / name) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  void write(const std::string& file, std::string_view text) const {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(HostFacts, WithoutAnyFileEverythingReadFromFilesIsNull) {
  const FakeRoot root("host_facts_empty");
  const Json facts = host_facts(root.path());
  for (const char* key : {"cpu_model", "cores_logical", "numeric_flags", "memory_bytes",
                          "memory_limit_bytes", "cpu_quota_cores", "governor", "distribution"}) {
    EXPECT_TRUE(facts.at(key).is_null()) << key;
  }
  EXPECT_GE(facts.at("cores_usable").get<int>(), 1);
  EXPECT_FALSE(facts.at("kernel").get<std::string>().empty());
}

TEST(HostFacts, TakesTheTightestLimitOfTheGroupsAbove) {
  const FakeRoot root("host_facts_limits");
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  root.write("sys/fs/cgroup/a/b/memory.max", "3000\n");
  root.write("sys/fs/cgroup/a/memory.max", "2000\n");
  root.write("proc/cpuinfo", kTwoSockets);
  const Json facts = host_facts(root.path());
  EXPECT_EQ(facts.at("cpu_quota_cores"), 2.0);
  EXPECT_EQ(facts.at("memory_limit_bytes"), 2000);
  EXPECT_EQ(facts.at("hypervisor"), "yes");
  EXPECT_EQ(facts.at("numeric_flags"), Json({"avx2", "fma"}));
}

TEST(HostFacts, OfThisHostHasNoEmptyText) {
  const Json facts = host_facts();
  for (const auto& fact : facts.items()) EXPECT_NE(fact.value(), "") << fact.key();
}

}  // namespace
}  // namespace assay::report
