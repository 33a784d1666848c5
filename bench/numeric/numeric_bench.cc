// The numeric comparison of two FLOAT32 arrays against NumPy's separate passes for the same
// figures, and against the rate at which one thread can read the same memory. Everything is CPU
// time of one thread, so that other load on the machine changes little, and the rounds alternate.

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "check/npy.h"
#include "check/numeric.h"
#include "read_sum.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNumpyElements = std::size_t{1} << 24;
// 2 x 256 MiB: more than a last-level cache holds.
constexpr std::size_t kElements = std::size_t{1} << 26;
constexpr int kRounds = 7;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Evenly distributed bits of a counter. Source: Steele, Lea and Flood, OOPSLA 2014 (SplitMix64).
std::uint64_t mixed(std::uint64_t counter) {
  std::uint64_t z = counter * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

struct Arrays {
  std::vector<float> ref = std::vector<float>(kElements);
  std::vector<float> got = std::vector<float>(kElements);
};

// References in (-4, 4), results off by up to 1e-4 of them: hardly an element is equal.
Arrays make_arrays() {
  Arrays arrays;
  for (std::size_t i = 0; i < kElements; ++i) {
    const std::uint64_t bits = mixed(i);
    const auto low = static_cast<double>(static_cast<std::int32_t>(bits));
    const auto high = static_cast<double>(static_cast<std::int32_t>(bits >> 32));
    arrays.ref[i] = static_cast<float>(low * 0x1p-29);
    arrays.got[i] = static_cast<float>(low * 0x1p-29 * (1.0 + high * 0x1p-31 * 1e-4));
  }
  return arrays;
}

Result<check::NumericResult> compare(const Arrays& arrays, std::size_t elements,
                                     const check::NumericOptions& options, double& seconds) {
  const double start = cpu_seconds();
  const TensorSpec spec{"y", DType::kFloat32, {static_cast<std::int64_t>(elements)}};
  ASSIGN_OR_RETURN(check::NumericComparison comparison,
                   check::NumericComparison::create(spec, spec, options));
  RETURN_IF_ERROR(comparison.add(0, std::as_bytes(std::span(arrays.ref).first(elements)),
                                 std::as_bytes(std::span(arrays.got).first(elements))));
  check::NumericResult result = comparison.finish();
  seconds = cpu_seconds() - start;
  return result;
}

Status write_npy(const fs::path& path, std::span<const float> values) {
  ASSIGN_OR_RETURN(
      check::NpyWriter writer,
      check::NpyWriter::open(path, DType::kFloat32, {static_cast<std::int64_t>(values.size())}));
  RETURN_IF_ERROR(writer.append(std::as_bytes(values)));
  return writer.finish();
}

Result<Json> run_numpy(const Arrays& arrays, const check::NumericOptions& options) {
  const fs::path scratch =
      fs::temp_directory_path() / fmt::format("assay-bench-numeric-{}", ::getpid());
  fs::create_directories(scratch);
  RETURN_IF_ERROR(write_npy(scratch / "ref.npy", std::span(arrays.ref).first(kNumpyElements)));
  RETURN_IF_ERROR(write_npy(scratch / "got.npy", std::span(arrays.got).first(kNumpyElements)));
  const std::string command = fmt::format(
      "'{}' '{}' '{}' '{}' {} {} {}", NUMPY_PYTHON, NUMPY_PASSES, (scratch / "ref.npy").string(),
      (scratch / "got.npy").string(), options.atol, options.rtol, 3);
  std::string output;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (pipe != nullptr && std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    output += buffer.data();
  }
  const int status = pipe != nullptr ? ::pclose(pipe) : -1;
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  Json figures = Json::parse(output, nullptr, false);
  if (status != 0 || !figures.is_object()) {
    return internal_error(fmt::format("NumPy did not run: {}; tools/setup --bench", command));
  }
  return figures;
}

// A comparison that is fast because it is wrong has no ratio.
Status same_figures(const check::NumericResult& ours, const Json& numpy) {
  Json mine = check::to_json(ours);
  mine["max_ulps"] = mine["ulp"]["max"];
  for (const auto& [name, value] : numpy.items()) {
    if (name == "seconds") continue;
    const auto want = value.get<double>();
    const auto got = mine[name].get<double>();
    if (std::fabs(got - want) > 1e-9 * std::fabs(want) + 1e-15) {
      return internal_error(fmt::format("{}: NumPy says {}, we say {}", name, want, got));
    }
  }
  return ok_status();
}

Status bench_numpy(const Arrays& arrays, const check::NumericOptions& options) {
  ASSIGN_OR_RETURN(const Json numpy, run_numpy(arrays, options));
  std::vector<double> ours;
  for (int round = 0; round < kRounds; ++round) {
    double seconds = 0;
    ASSIGN_OR_RETURN(const check::NumericResult result,
                     compare(arrays, kNumpyElements, options, seconds));
    RETURN_IF_ERROR(same_figures(result, numpy));
    ours.push_back(seconds);
  }
  fmt::print("numeric_vs_numpy ratio {:.1f} goal >= 5\n",
             numpy["seconds"].get<double>() / median(ours));
  return ok_status();
}

Status bench_bandwidth(const Arrays& arrays, const check::NumericOptions& figures_only) {
  check::NumericOptions with_ulp = figures_only;
  with_ulp.ulp_distribution = true;
  struct Row {
    const char* name;
    double goal;
    check::NumericOptions options;
    std::vector<double> ratios;
  };
  std::array<Row, 3> rows = {Row{"numeric_bandwidth", 0.5, figures_only, {}},
                             Row{"numeric_bandwidth_ulp", 0.25, with_ulp, {}},
                             Row{"numeric_bandwidth_plots", 0.25, {}, {}}};
  volatile float kept = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = cpu_seconds();
    kept = read_sum(arrays.ref) + read_sum(arrays.got);
    const double read = cpu_seconds() - start;
    for (Row& row : rows) {
      double seconds = 0;
      RETURN_IF_ERROR(compare(arrays, kElements, row.options, seconds).status());
      row.ratios.push_back(read / seconds);
    }
  }
  static_cast<void>(kept);
  for (const Row& row : rows) {
    fmt::print("{} ratio {:.3f} goal >= {}\n", row.name, median(row.ratios), row.goal);
  }
  return ok_status();
}

Status run() {
  const Arrays arrays = make_arrays();
  check::NumericOptions figures_only;
  figures_only.ulp_distribution = false;
  figures_only.plots = false;
  RETURN_IF_ERROR(bench_numpy(arrays, figures_only));
  return bench_bandwidth(arrays, figures_only);
}

}  // namespace
}  // namespace assay

int main() {
  const assay::Status status = assay::run();
  if (status.ok()) return 0;
  fmt::print(stderr, "numeric_bench: {}\n", status.to_string());
  return 1;
}
