// What the load generator costs per query, against two clock reads and against MLPerf LoadGen, and
// how it scales with clients. Everything that a ratio compares runs alternately in this process;
// the ratio is the median of the pairs', with the interval of the sign test at 95 %.

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/result.h"
#include "loadgen/closed_loop.h"
#include "loadgen/harness.h"
#include "loadgen/record.h"
#include "loadgen/round.h"
#include "loadgen/statistics.h"
#include "null_backend.h"
#ifdef ASSAY_HAS_MLPERF
#include "mlperf_null.h"
#endif

namespace assay::bench {
namespace {

// So few that a measurement lasts about a millisecond: what else the host does then hits some pairs
// and not all, and the median leaves it out.
constexpr std::uint64_t kQueries = 5'000;
constexpr std::uint64_t kScalingQueries = 200'000;  // per client: time to be spread over the CPUs
constexpr int kPairs = 101;
constexpr int kScalingPairs = 41;
constexpr int kMlperfPairs = 41;  // each starts and stops its logging threads

// Pages for a record, as the controller of a run would own them.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(data_, bytes_); }

  std::span<std::byte> span() const { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  std::size_t bytes_;
  void* data_;
};

loadgen::ClosedLoopSettings settings_for(std::uint32_t clients, std::uint64_t queries) {
  loadgen::ClosedLoopSettings settings;
  settings.clients = clients;
  settings.iterations = queries;
  settings.min_duration_ns = 0;
  settings.warmup = {.floor_calls = 10,
                     .floor_ns = 1'000'000,
                     .cap_ns = 5'000'000,
                     .block_calls = 16,
                     .block_ns = 500'000,
                     .tolerance = 0.02};
  return settings;
}

// Queries per nanosecond that a closed loop completes on `target`.
Result<double> rate(loadgen::Target& target, std::uint32_t clients, std::uint64_t queries,
                    const Pages& pages) {
  const loadgen::RecordShape shape{clients, queries};
  ASSIGN_OR_RETURN(loadgen::Recorder recorder, loadgen::Recorder::create(pages.span(), shape));
  RETURN_IF_ERROR(loadgen::run_closed_loop(target, settings_for(clients, queries), recorder, {}));
  ASSIGN_OR_RETURN(const loadgen::RecordView record, loadgen::parse(pages.span()));
  for (const loadgen::ClientRecord& client : record.clients) {
    if (client.first_failure) return Status(client.first_failure->code, client.first_failure->text);
  }
  return static_cast<double>(loadgen::completed_in_window(record)) /
         static_cast<double>(record.window_ns());
}

// The target called in a bare loop: what the load generator's cost comes on top of.
double bare_ns_per_query(loadgen::Target& target) {
  const std::int64_t start_ns = now_ns();
  for (std::uint64_t query = 0; query < kQueries; ++query) {
    if (!target.issue(0, query).ok()) std::abort();
  }
  return static_cast<double>(now_ns() - start_ns) / static_cast<double>(kQueries);
}

void print(std::string_view name, const std::vector<double>& a, const std::vector<double>& b,
           std::string_view goal) {
  const loadgen::PairedRatio paired = loadgen::paired_ratio(a, b);
  std::string interval;
  if (paired.interval) {
    interval = fmt::format("95 % interval {:.3f} to {:.3f}, ", paired.interval->low,
                           paired.interval->high);
  }
  fmt::print("{} ratio {:.3f} goal {} ({}{} pairs, medians {:.4g} and {:.4g})\n", name,
             paired.ratio, goal, interval, paired.pairs, loadgen::median(a), loadgen::median(b));
  std::fflush(stdout);
}

Status bench_cost(const Pages& pages) {
  loadgen::NullTarget null_target;
  ASSIGN_OR_RETURN(const std::unique_ptr<NullBackendTarget> null_backend,
                   NullBackendTarget::load());
  std::vector<double> two_reads;
  std::vector<double> on_target;
  std::vector<double> on_backend;
  std::vector<double> bare;
  for (int pair = 0; pair < kPairs; ++pair) {
    two_reads.push_back(2 * loadgen::clock_read_cost_ns(2 * kQueries));
    ASSIGN_OR_RETURN(const double target_rate, rate(null_target, 1, kQueries, pages));
    on_target.push_back(1 / target_rate);
    bare.push_back(bare_ns_per_query(*null_backend));
    ASSIGN_OR_RETURN(const double backend_rate, rate(*null_backend, 1, kQueries, pages));
    on_backend.push_back(1 / backend_rate - bare.back());
  }
  print("loadgen_null_target_vs_two_clock_reads", on_target, two_reads, "<= 3");
  print("loadgen_null_backend_vs_two_clock_reads", on_backend, two_reads, "<= 3");
  fmt::print(
      "# a call of the null backend through the boundary, without the load generator: {:.4g} ns\n",
      loadgen::median(bare));
  return ok_status();
}

Status bench_mlperf([[maybe_unused]] const Pages& pages) {
#ifdef ASSAY_HAS_MLPERF
  const std::string pattern = (std::filesystem::temp_directory_path() / "mlperf-XXXXXX").string();
  std::vector<char> folder(pattern.begin(), pattern.end());
  folder.push_back('\0');
  if (mkdtemp(folder.data()) == nullptr) return errno_status(errno, pattern);
  loadgen::NullTarget null_target;
  std::vector<double> ours;
  std::vector<double> theirs;
  for (int pair = 0; pair < kMlperfPairs; ++pair) {
    theirs.push_back(mlperf_ns_per_query(kQueries, folder.data()));
    ASSIGN_OR_RETURN(const double our_rate, rate(null_target, 1, kQueries, pages));
    ours.push_back(1 / our_rate);
  }
  std::filesystem::remove_all(folder.data());
  print("loadgen_vs_mlperf_loadgen", ours, theirs, "<= 0.2");
#else
  fmt::print("loadgen_vs_mlperf_loadgen not run: tools/setup --bench brings MLPerf LoadGen\n");
#endif
  return ok_status();
}

std::int64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Does nothing, but notes now and then what CPU time its client's thread has used: what a query
// costs also where other programs take the CPUs away.
class CpuTimeTarget : public loadgen::Target {
 public:
  explicit CpuTimeTarget(std::uint32_t clients) : marks_(clients) {}

  Status issue(std::uint32_t client, std::uint64_t query) override {
    Mark& mark = marks_[client];
    if (query < loadgen::kUntimedQueryBase && mark.queries++ % kEvery == 0) mark.note();
    return {};
  }

  // CPU time per query of all clients.
  double ns_per_query() const {
    double cpu_ns = 0;
    double queries = 0;
    for (const Mark& mark : marks_) {
      cpu_ns += static_cast<double>(mark.last_ns - mark.first_ns);
      queries += static_cast<double>((mark.notes - 1) * kEvery);
    }
    return cpu_ns / queries;
  }

 private:
  static constexpr std::uint64_t kEvery = 2048;

  struct alignas(64) Mark {
    void note() {
      last_ns = thread_cpu_ns();
      if (notes++ == 0) first_ns = last_ns;
    }
    std::uint64_t queries = 0;
    std::uint64_t notes = 0;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
  };
  std::vector<Mark> marks_;
};

Status bench_scaling(const Pages& pages) {
  loadgen::NullTarget null_target;
  const std::uint32_t clients = usable_cpus();
  std::vector<double> together;
  std::vector<double> linear;
  std::vector<double> cpu_alone;
  std::vector<double> cpu_crowd;
  for (int pair = 0; pair < kScalingPairs; ++pair) {
    ASSIGN_OR_RETURN(const double one, rate(null_target, 1, kScalingQueries, pages));
    ASSIGN_OR_RETURN(const double all, rate(null_target, clients, kScalingQueries, pages));
    linear.push_back(one * clients);
    together.push_back(all);
    CpuTimeTarget alone(1);
    CpuTimeTarget crowd(clients);
    RETURN_IF_ERROR(rate(alone, 1, kScalingQueries, pages).status());
    RETURN_IF_ERROR(rate(crowd, clients, kScalingQueries, pages).status());
    cpu_alone.push_back(alone.ns_per_query());
    cpu_crowd.push_back(crowd.ns_per_query());
  }
  print(fmt::format("loadgen_scaling_{}_clients_vs_linear", clients), together, linear, ">= 0.9");
  // Needs idle CPUs; the CPU time per query shows what the clients cost each other without them.
  fmt::print("# CPU time per query: {:.4g} ns with 1 client, {:.4g} ns with {}\n",
             loadgen::median(cpu_alone), loadgen::median(cpu_crowd), clients);
  return ok_status();
}

Status run() {
  ASSIGN_OR_RETURN(const std::size_t bytes,
                   loadgen::required_bytes({usable_cpus(), kScalingQueries}));
  const Pages pages(bytes);
  RETURN_IF_ERROR(bench_cost(pages));
  RETURN_IF_ERROR(bench_mlperf(pages));
  return bench_scaling(pages);
}

}  // namespace
}  // namespace assay::bench

int main() {
  const assay::Status status = assay::bench::run();
  if (!status.ok()) fmt::print(stderr, "loadgen_bench: {}\n", status.to_string());
  return status.ok() ? 0 : 3;
}
