// What a checked call over the boundary costs: infer on the null backend, everything between the
// caller's tensors and the output's memory and back, against two readings of the clock, in short
// alternating windows. The clock is what every latency pays anyway.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "host/backend.h"

namespace assay::host {
namespace {

constexpr int kWindows = 201;
constexpr int kCalls = 2000;
constexpr double kBound = 2.0;

class OneSlot : public OutputSink {
 public:
  Result<std::span<std::byte>> allocate(std::size_t /*output_index*/,
                                        std::span<const std::int64_t> /*shape*/,
                                        std::size_t size_bytes) override {
    return std::span<std::byte>(memory_).first(size_bytes);
  }

 private:
  alignas(64) std::byte memory_[64];
};

// Nanoseconds of one `body`, over kCalls of them.
template <typename Body>
double time_ns(Body&& body) {
  const std::int64_t start = now_ns();
  for (int i = 0; i < kCalls; ++i) body();
  return static_cast<double>(now_ns() - start) / kCalls;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Status run() {
  ASSIGN_OR_RETURN(const Manifest manifest, find_backend("NULL", {ASSAY_BACKENDS_FOLDER}));
  ASSIGN_OR_RETURN(const Library library, Library::open(manifest.library_path()));
  ASSIGN_OR_RETURN(RuntimeBackend runtime, RuntimeBackend::create(library));
  RETURN_IF_ERROR(runtime.load({}));
  ASSIGN_OR_RETURN(const Tensor input, Tensor::make({"x", DType::kFloat32, {1, 1}}));
  const TensorView view = input.view();
  OneSlot outputs;

  std::vector<double> calls_ns;
  std::vector<double> clocks_ns;
  Status failure;
  volatile std::int64_t reading = 0;
  for (int window = 0; window < kWindows; ++window) {
    calls_ns.push_back(time_ns([&] {
      if (Status status = runtime.infer({&view, 1}, outputs); !status.ok()) failure = status;
    }));
    clocks_ns.push_back(time_ns([&] {
      reading = now_ns();
      reading = now_ns();
    }));
  }
  RETURN_IF_ERROR(failure);
  const double call_ns = median(calls_ns);
  const double clock_ns = median(clocks_ns);
  fmt::print("boundary: a checked call {:.1f} ns, two clock readings {:.1f} ns\n", call_ns,
             clock_ns);
  fmt::print("boundary ratio {:.2f} goal <= {}\n", call_ns / clock_ns, kBound);
  return ok_status();
}

}  // namespace
}  // namespace assay::host

int main() {
  const assay::Status status = assay::host::run();
  if (!status.ok()) fmt::print(stderr, "boundary: {}\n", status.to_string());
  return status.ok() ? 0 : 3;
}
