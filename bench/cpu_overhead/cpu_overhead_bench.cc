// What Assay adds to the CPU backend: its calls against a hand-written ONNX Runtime loop, same
// model, batches and input memory, one intra-op thread, calls alternating in one process. The ratio
// is hand time / Assay time, the median of the pairs, with the sign-test interval at 95 %; 1 is no
// overhead.
//
// Where a session's weights happen to lie in memory moves its speed by more than the goals allow,
// so each row is measured over several pairs of sessions, built in alternating order.
//
// usage: cpu_overhead_bench [--fashion-mnist-cnn FILE] [--efficientnet-lite0 FILE]

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay_loop.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/result.h"
#include "hand_loop.h"
#include "loadgen/statistics.h"
#include "tensor/tensor.h"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;

struct Row {
  std::string_view name;
  std::string_view model;
  std::int64_t batch;
  double goal;  // the interval's upper end reaches it
  int sessions;
  int pairs_per_session;
  int warmup_calls;
};

constexpr std::string_view kFashion = "fashion-mnist-cnn";
constexpr std::string_view kEfficientNet = "efficientnet-lite0";
constexpr Row kRows[] = {
    {"cpu_overhead_fashion-mnist-cnn_b1", kFashion, 1, 0.97, 12, 2000, 200},
    {"cpu_overhead_efficientnet-lite0_b1", kEfficientNet, 1, 0.995, 12, 60, 5},
    {"cpu_overhead_efficientnet-lite0_b8", kEfficientNet, 8, 0.995, 6, 100, 2},
};

struct Times {
  std::vector<double> hand_ns;
  std::vector<double> assay_ns;
};

template <typename Call>
double timed_ns(const Call& call) {
  const std::int64_t start_ns = now_ns();
  call();
  return static_cast<double>(now_ns() - start_ns);
}

// Batches that both loops run on in turn, as a worker does: in memory that the host set aside.
class Batches {
 public:
  static constexpr std::size_t kCount = 8;

  // `shape` is that of one batch.
  static Result<Batches> make(const std::vector<std::int64_t>& shape) {
    Batches batches;
    batches.shape_ = shape;
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSIGN_OR_RETURN(Tensor tensor, Tensor::make({"batch", DType::kFloat32, shape}));
      for (float& value : tensor.as<float>()) {
        state = state * 1664525U + 1013904223U;  // Numerical Recipes; any spread will do
        value = static_cast<float>(state >> 8) / static_cast<float>(1U << 24);
      }
      batches.tensors_.push_back(std::move(tensor));
    }
    return batches;
  }

  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::vector<std::span<float>> spans() {
    std::vector<std::span<float>> all;
    all.reserve(tensors_.size());
    for (Tensor& tensor : tensors_) all.push_back(tensor.as<float>());
    return all;
  }

 private:
  std::vector<std::int64_t> shape_;
  std::vector<Tensor> tensors_;
};

// Both loops gave the same bits, or one of them does not do the same work.
Status check_outputs(const HandLoop& hand, const AssayLoop& assay) {
  if (std::ranges::equal(hand.output(), assay.output())) return ok_status();
  return internal_error("the two loops give different outputs");
}

// The two loops over one model, each with a session of its own.
struct Loops {
  std::unique_ptr<HandLoop> hand;
  std::unique_ptr<AssayLoop> assay;
};

Result<Loops> make_loops(const Row& row, const fs::path& model, bool assay_first,
                         std::optional<Batches>& batches) {
  Loops loops;
  if (!batches) {
    ASSIGN_OR_RETURN(const auto probe, HandLoop::make(model, row.batch));
    ASSIGN_OR_RETURN(batches, Batches::make(probe->input_shape()));
  }
  const auto make_hand = [&]() -> Status {
    ASSIGN_OR_RETURN(loops.hand, HandLoop::make(model, row.batch));
    loops.hand->set_inputs(batches->spans());
    return ok_status();
  };
  if (!assay_first) RETURN_IF_ERROR(make_hand());
  ASSIGN_OR_RETURN(loops.assay, AssayLoop::make(model, batches->shape(), batches->spans()));
  if (assay_first) RETURN_IF_ERROR(make_hand());
  return loops;
}

Status measure_sessions(const Row& row, Loops& loops, Times& times) {
  Status failure;
  std::size_t index = 0;
  const auto run_hand = [&] { loops.hand->run(index); };
  const auto run_assay = [&] {
    if (Status status = loops.assay->run(index); !status.ok()) failure = std::move(status);
  };
  for (int i = 0; i < row.warmup_calls; ++i) {
    run_hand();
    run_assay();
  }
  for (int pair = 0; pair < row.pairs_per_session; ++pair) {
    index = static_cast<std::size_t>(pair) % Batches::kCount;
    // Which goes first changes with every round over the batches, not with the batch.
    const bool hand_first = (static_cast<std::size_t>(pair) / Batches::kCount) % 2 == 0;
    if (hand_first) times.hand_ns.push_back(timed_ns(run_hand));
    times.assay_ns.push_back(timed_ns(run_assay));
    if (!hand_first) times.hand_ns.push_back(timed_ns(run_hand));
  }
  RETURN_IF_ERROR(failure);
  return check_outputs(*loops.hand, *loops.assay);
}

Status measure(const Row& row, const fs::path& model) {
  if (!fs::exists(model)) {
    fmt::print("{} not run: there is no {}; `./assay fetch {}-onnx-fp32` gets it\n", row.name,
               quoted(model), row.model);
    return ok_status();
  }
  Times times;
  std::optional<Batches> batches;
  for (int session = 0; session < row.sessions; ++session) {
    ASSIGN_OR_RETURN(Loops loops, make_loops(row, model, session % 2 == 0, batches));
    RETURN_IF_ERROR(measure_sessions(row, loops, times));
  }
  const loadgen::PairedRatio paired = loadgen::paired_ratio(times.hand_ns, times.assay_ns);
  const loadgen::Interval interval = paired.interval.value_or(loadgen::Interval{});
  fmt::print(
      "{} ratio {:.4f} goal >= {} ({}, 95 % interval {:.4f} to {:.4f}, {} pairs, medians {:.1f} "
      "and "
      "{:.1f} us)\n",
      row.name, paired.ratio, row.goal, interval.high >= row.goal ? "reached" : "missed",
      interval.low, interval.high, paired.pairs, loadgen::median(times.hand_ns) / 1e3,
      loadgen::median(times.assay_ns) / 1e3);
  std::fflush(stdout);
  return ok_status();
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? "" : value;
}

fs::path cache_folder() {
  if (const std::string named = environment("ASSAY_CACHE"); !named.empty()) return named;
  if (const std::string named = environment("XDG_CACHE_HOME"); !named.empty()) {
    return fs::path(named) / "assay";
  }
  return fs::path(environment("HOME")) / ".cache" / "assay";
}

struct Models {
  fs::path fashion = fs::path(ASSAY_SOURCE_DIR) / "model_zoo/fashion_mnist_cnn.onnx";
  fs::path efficientnet = cache_folder() / "models/efficientnet-lite0/efficientnet_lite0.onnx";

  const fs::path& of(std::string_view name) const {
    return name == kFashion ? fashion : efficientnet;
  }
};

Result<Models> parse_arguments(std::span<char*> arguments) {
  Models models;
  for (std::size_t i = 1; i < arguments.size(); i += 2) {
    const std::string_view option = arguments[i];
    const bool known = option == "--fashion-mnist-cnn" || option == "--efficientnet-lite0";
    if (!known || i + 1 == arguments.size()) {
      return invalid_argument(
          "usage: cpu_overhead_bench [--fashion-mnist-cnn FILE] [--efficientnet-lite0 FILE]");
    }
    (option == "--fashion-mnist-cnn" ? models.fashion : models.efficientnet) = arguments[i + 1];
  }
  return models;
}

Status run(std::span<char*> arguments) {
  ASSIGN_OR_RETURN(const Models models, parse_arguments(arguments));
  for (const Row& row : kRows) {
    const Status status = measure(row, models.of(row.model));
    if (!status.ok()) return status.with_context(row.name);
  }
  return ok_status();
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  const assay::Status status = assay::bench::run({argv, static_cast<std::size_t>(argc)});
  if (!status.ok()) fmt::print(stderr, "cpu_overhead_bench: {}\n", status.to_string());
  return status.ok() ? 0 : 3;
}
