// The modelled IPU's matrix products and convolutions, at sizes of EfficientNet-Lite0 and MiniLM,
// against their definition in double precision and against ONNX Runtime in fp32. CPU time of one
// thread; the time of a set is that of all its operators.

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "conv2d.h"
#include "matmul.h"
#include "operator_session.h"
#include "round.h"
#include "scalar.h"

namespace assay::bench {
namespace {

using namespace graphcore::arith;  // NOLINT(google-build-using-namespace)

constexpr int kRounds = 5;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The least of several rounds.
double seconds_of(int rounds, const std::function<void()>& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < rounds; ++i) {
    const double begin = cpu_seconds();
    work();
    least = std::min(least, cpu_seconds() - begin);
  }
  return least;
}

// fp16 values.
std::vector<float> values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> made(n);
  for (float& value : made) value = normal(random);
  Counters ignored;
  round_values(made.data(), made.data(), n, {}, 0, ignored);
  return made;
}

struct Case {
  std::string name;
  std::function<void(const Arithmetic&, Level)> fast;
  std::function<void(const Arithmetic&)> scalar;
  std::function<void()> fp32;
};

Case case_of(const std::string& name, const MatMulShape& shape) {
  struct Data {
    std::vector<float> a, b, out;
    std::vector<PackedMatrix> packed;  // by level
    OperatorSession session;
  };
  std::vector<float> b = values(shape.k * shape.n * (shape.one_b ? 1 : shape.batch), 2);
  const auto data = std::make_shared<Data>(Data{values(shape.batch * shape.m * shape.k, 1),
                                                b,
                                                std::vector<float>(shape.batch * shape.m * shape.n),
                                                {},
                                                OperatorSession(shape, b)});
  for (const Level level : usable_levels()) data->packed.push_back(pack(shape, b.data(), level));
  return {name,
          [=](const Arithmetic& arithmetic, Level level) {
            const auto packed = std::find_if(data->packed.begin(), data->packed.end(),
                                             [=](const auto& one) { return one.level == level; });
            Counters counters;
            matmul(shape, data->a.data(), *packed, nullptr, data->out.data(), arithmetic, 0,
                   counters);
          },
          [=](const Arithmetic& arithmetic) {
            Counters counters;
            scalar_matmul(shape, data->a.data(), data->b.data(), nullptr, data->out.data(),
                          arithmetic, 0, counters);
          },
          [=] { data->session.run(data->a, data->out); }};
}

Case case_of(const std::string& name, const Conv2dShape& shape) {
  struct Data {
    std::vector<float> input, weights, out;
    OperatorSession session;
  };
  const std::vector<float> weights = values(shape.filters * shape.reduction(), 2);
  const auto data = std::make_shared<Data>(
      Data{values(shape.batch * shape.channels * shape.height * shape.width, 1), weights,
           std::vector<float>(shape.batch * shape.filters * shape.out_height() * shape.out_width()),
           OperatorSession(shape, weights)});
  return {name,
          [=](const Arithmetic& arithmetic, Level level) {
            Counters counters;
            conv2d(shape, data->input.data(), data->weights.data(), nullptr, data->out.data(),
                   arithmetic, 0, counters, {}, level);
          },
          [=](const Arithmetic& arithmetic) {
            Counters counters;
            scalar_conv2d(shape, data->input.data(), data->weights.data(), nullptr,
                          data->out.data(), arithmetic, 0, counters);
          },
          [=] { data->session.run(data->input, data->out); }};
}

Conv2dShape square(std::size_t channels, std::size_t side, std::size_t filters, std::size_t kernel,
                   std::size_t stride, std::size_t groups) {
  const std::size_t pad = kernel / 2;
  return {.channels = channels,
          .height = side,
          .width = side,
          .filters = filters,
          .groups = groups,
          .kernel_y = kernel,
          .kernel_x = kernel,
          .stride_y = stride,
          .stride_x = stride,
          .pad_top = pad,
          .pad_left = pad,
          .pad_bottom = pad,
          .pad_right = pad};
}

std::vector<Case> efficientnet() {
  std::vector<Case> cases;
  cases.push_back(case_of("conv3x3_stem", square(3, 224, 32, 3, 2, 1)));
  cases.push_back(case_of("depthwise3x3", square(32, 112, 32, 3, 1, 32)));
  cases.push_back(case_of("conv1x1_wide", square(16, 112, 96, 1, 1, 1)));
  cases.push_back(case_of("depthwise3x3_stride2", square(96, 112, 96, 3, 2, 96)));
  cases.push_back(case_of("depthwise5x5", square(240, 28, 240, 5, 1, 240)));
  cases.push_back(case_of("conv1x1", square(480, 14, 80, 1, 1, 1)));
  cases.push_back(case_of("depthwise5x5_small", square(1152, 7, 1152, 5, 1, 1152)));
  cases.push_back(case_of("conv1x1_last", square(320, 7, 1280, 1, 1, 1)));
  return cases;
}

std::vector<Case> minilm() {
  std::vector<Case> cases;
  cases.push_back(case_of("projection", MatMulShape{1, 128, 384, 384, false, true}));
  cases.push_back(case_of("feed_forward", MatMulShape{1, 128, 384, 1536, false, true}));
  cases.push_back(case_of("feed_back", MatMulShape{1, 128, 1536, 384, false, true}));
  cases.push_back(case_of("attention", MatMulShape{12, 128, 32, 128}));
  return cases;
}

struct Mode {
  const char* name;
  Arithmetic arithmetic;
};

const Mode kModes[] = {
    {"fp16", {}},
    {"fp16_half_partials", {.partials = Partials::kHalf}},
    {"fp16_half_partials_stochastic",
     {.partials = Partials::kHalf, .rounding = Rounding::kStochastic}},
    {"fp32", {.half_storage = false}},
};

double total(const std::vector<Case>& cases, const std::function<double(const Case&)>& of_one) {
  double sum = 0;
  for (const Case& one : cases) sum += of_one(one);
  return sum;
}

void report_cases(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    const double fp32 = seconds_of(kRounds, one.fp32);
    fmt::print("  {:22} fp32 {:8.0f} us", one.name, fp32 * 1e6);
    for (const Level level : usable_levels()) {
      const double fast = seconds_of(kRounds, [&] { one.fast({}, level); });
      fmt::print("  {} {:8.0f} us", name_of(level), fast * 1e6);
    }
    fmt::print("\n");
  }
}

void bench_set(const std::string& set, const std::vector<Case>& cases) {
  report_cases(cases);
  const Level best = usable_levels().back();
  const double fp32 = total(cases, [](const Case& one) { return seconds_of(kRounds, one.fp32); });
  for (const Mode& mode : kModes) {
    const double fast = total(cases, [&](const Case& one) {
      return seconds_of(kRounds, [&] { one.fast(mode.arithmetic, best); });
    });
    const double scalar = total(cases, [&](const Case& one) {
      return seconds_of(1, [&] { one.scalar(mode.arithmetic); });
    });
    fmt::print("ipu_arith_{}_{}_vs_scalar ratio {:.0f} goal >= 20\n", set, mode.name,
               scalar / fast);
    fmt::print("ipu_arith_{}_{}_vs_fp32 ratio {:.2f} goal <= 8\n", set, mode.name, fast / fp32);
  }
}

}  // namespace
}  // namespace assay::bench

int main() {
  try {
    assay::bench::bench_set("efficientnet", assay::bench::efficientnet());
    assay::bench::bench_set("minilm", assay::bench::minilm());
  } catch (const std::exception& error) {
    fmt::print(stderr, "ipu_arith_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
