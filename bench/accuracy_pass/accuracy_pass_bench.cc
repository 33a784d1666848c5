// The accuracy pass over 10,000 images, through worker, shared memory and output store, against a
// bare loop in one process that decodes a batch, calls the backend and takes the argmax.
// Alternating, so that both see the same machine. Then the peak memory of a pass over 1,000 and
// over 10,000.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "controller/data.h"
#include "controller/evaluation.h"
#include "controller/inference_pass.h"
#include "controller/installation.h"
#include "controller/steps.h"
#include "workload/interact_profile.h"
#include "workload/plan.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
constexpr const char* kTask = "fashion-mnist-cnn-onnx-fp32";
constexpr std::int64_t kBatch = 64;
constexpr int kPairs = 15;
constexpr double kMemoryBound = 2 << 20;

struct Bench {
  controller::Installation installation;
  host::Manifest manifest;
  workload::ModelInfo info;
  std::unique_ptr<dataset::Dataset> data;
  controller::CompiledModel model;
  fs::path scratch;
  controller::SessionSettings settings;
};

Result<Bench> set_up() {
  Bench bench;
  ASSIGN_OR_RETURN(const fs::path executable, controller::own_executable());
  ASSIGN_OR_RETURN(bench.installation, controller::find_installation(executable));
  ASSIGN_OR_RETURN(bench.manifest, host::find_backend("CPU", bench.installation.backends));
  workload::Plan plan;
  ASSIGN_OR_RETURN(plan.model,
                   workload::load_model_info(
                       bench.installation.model_zoo / fmt::format("{}.json", kTask),
                       {bench.installation.model_zoo, bench.installation.cache / "models"}));
  bench.info = plan.model;
  plan.batch_sizes = {kBatch};
  ASSIGN_OR_RETURN(bench.data,
                   controller::open_data(plan.model, nullptr, kTask, false, 1, bench.installation));
  ASSIGN_OR_RETURN(const workload::InteractProfile profile,
                   workload::load_interact_profile(bench.manifest.profile_path()));
  ASSIGN_OR_RETURN(const workload::Answers answers,
                   workload::resolve_answers(profile, {{"intra_op_threads=1"}, {}, nullptr}));
  bench.scratch = fs::temp_directory_path() / fmt::format("assay-bench-{}", ::getpid());
  fs::create_directories(bench.scratch / "artifact");
  bench.settings = {bench.installation.worker, bench.scratch, nullptr, {}, 0};
  bench.model.configs = workload::configs_json(plan, workload::interact_info(answers)).dump();
  bench.model.artifact_folder = bench.scratch / "artifact";
  controller::RunObserver observer;
  auto compiled = controller::compile_model(
      bench.settings, bench.manifest,
      {bench.model.configs, bench.model.artifact_folder, nullptr, false}, observer);
  if (!compiled.value) return internal_error(compiled.record.end.reason);
  bench.model.compile_result = compiled.value->compile_result;
  return bench;
}

// Assay's way: seconds for `samples`, score included. Starting a worker, loading and closing are
// not in it, as they are not in the bare loop.
Result<double> pass_seconds(const Bench& bench, std::uint64_t samples) {
  controller::RunObserver observer;
  worker::PhaseEnd end;
  ASSIGN_OR_RETURN(controller::Session session,
                   controller::Session::start(bench.settings, bench.manifest, "pass", end));
  controller::PassRequest request;
  request.dataset = bench.data.get();
  request.samples = samples;
  request.batch_size = kBatch;
  request.batch_axes = bench.info.batch_axes;
  request.model = bench.model;
  request.store = bench.scratch / "pass.outputs";
  ASSIGN_OR_RETURN(const controller::PassResult pass,
                   controller::run_inference_pass(session, request, observer));
  const std::int64_t start_ns = now_ns();
  ASSIGN_OR_RETURN(
      const check::AccuracyResult score,
      controller::score_store(request.store, *bench.data, samples, {"top1", "", {}}, 1));
  const std::int64_t score_ns = now_ns() - start_ns;
  session.finish(ok_status());
  return static_cast<double>(pass.wall_ns + score_ns) / 1e9;
}

class VectorSink : public host::OutputSink {
 public:
  Result<std::span<std::byte>> allocate(std::size_t /*index*/, std::span<const std::int64_t>,
                                        std::size_t size_bytes) override {
    if (bytes_.size() < size_bytes) bytes_.resize(size_bytes);
    return std::span(bytes_).first(size_bytes);
  }
  std::span<const float> scores() const {
    return {reinterpret_cast<const float*>(bytes_.data()), bytes_.size() / sizeof(float)};
  }

 private:
  std::vector<std::byte> bytes_;
};

// The bare loop: decode a batch, call, argmax.
Result<double> bare_seconds(const Bench& bench, host::RuntimeBackend& runtime,
                            std::uint64_t samples) {
  ASSIGN_OR_RETURN(std::vector<TensorSpec> specs,
                   controller::batched_specs(*bench.data, bench.info.batch_axes, kBatch));
  ASSIGN_OR_RETURN(Tensor batch, Tensor::make(specs.front()));
  VectorSink sink;
  std::uint64_t right = 0;
  const std::size_t row = batch.bytes().size() / kBatch;
  const std::int64_t start_ns = now_ns();
  for (std::uint64_t first = 0; first < samples; first += kBatch) {
    const std::uint64_t count = std::min<std::uint64_t>(kBatch, samples - first);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::span<std::byte> into = batch.bytes().subspan(i * row, row);
      RETURN_IF_ERROR(bench.data->read(first + i, std::span(&into, 1)));
    }
    const TensorView view = batch.view();
    RETURN_IF_ERROR(runtime.infer(std::span(&view, 1), sink));
    const std::size_t classes = sink.scores().size() / kBatch;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto scores = sink.scores().subspan(i * classes, classes);
      const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
      ASSIGN_OR_RETURN(const dataset::Label label, bench.data->label(first + i));
      if (std::get<std::int64_t>(label) == best) ++right;
    }
  }
  const double seconds = static_cast<double>(now_ns() - start_ns) / 1e9;
  return right > 0 ? Result<double>(seconds) : internal_error("nothing was right");
}

// Peaks of resident memory, bytes.
struct PassMemory {
  double controller = 0;  // of the process that decodes, stores and scores
  double worker = 0;      // of the process that it starts, which holds the backend
};

// VmHWM of this process: ru_maxrss of one that is waited for would be its largest child's.
double own_peak_bytes() {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
  }
  return 0;
}

// A pass in a process of its own, which tells its own peak and its worker's.
Result<PassMemory> pass_memory(const Bench& bench, std::uint64_t samples) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return errno_status(errno, "cannot make a pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak so far is the parent's (proc(5))
    const bool ok = pass_seconds(bench, samples).ok();
    rusage children{};
    ::getrusage(RUSAGE_CHILDREN, &children);
    const PassMemory peaks{own_peak_bytes(), static_cast<double>(children.ru_maxrss) * 1024};
    const bool told = ::write(ends[1], &peaks, sizeof(peaks)) == sizeof(peaks);
    ::_exit(ok && told ? 0 : 1);
  }
  ::close(ends[1]);
  PassMemory peaks;
  const bool heard = ::read(ends[0], &peaks, sizeof(peaks)) == sizeof(peaks);
  ::close(ends[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0 || !heard) {
    return internal_error("the pass failed in a process of its own");
  }
  return peaks;
}

Status run() {
  ASSIGN_OR_RETURN(const Bench bench, set_up());
  // Before any thread is started here, so that forking is safe.
  ASSIGN_OR_RETURN(const PassMemory small, pass_memory(bench, 1'000));
  ASSIGN_OR_RETURN(const PassMemory large, pass_memory(bench, 10'000));
  ASSIGN_OR_RETURN(const host::Library library, host::Library::open(bench.manifest.library_path()));
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, host::RuntimeBackend::create(library));
  RETURN_IF_ERROR(runtime.load({bench.model.configs,
                                bench.model.compile_result,
                                bench.model.artifact_folder,
                                kBatch,
                                {},
                                {},
                                -1}));
  std::vector<double> ratios;
  for (int pair = 0; pair < kPairs; ++pair) {
    ASSIGN_OR_RETURN(const double bare, bare_seconds(bench, runtime, 10'000));
    ASSIGN_OR_RETURN(const double ours, pass_seconds(bench, 10'000));
    ratios.push_back(bare / ours);
  }
  std::sort(ratios.begin(), ratios.end());
  fmt::print("accuracy_pass ratio {:.3f} goal >= 0.95\n", ratios[ratios.size() / 2]);
  constexpr double kMiB = 1 << 20;
  fmt::print(stderr, "peaks for 1,000 and 10,000: controller {:.2f} and {:.2f} MiB, ",
             small.controller / kMiB, large.controller / kMiB);
  fmt::print(stderr, "worker {:.2f} and {:.2f} MiB\n", small.worker / kMiB, large.worker / kMiB);
  fmt::print("accuracy_pass_memory ratio {:.3f} goal <= 1\n",
             (large.controller - small.controller) / kMemoryBound);
  fmt::print("accuracy_pass_worker_memory ratio {:.3f} goal <= 1\n",
             (large.worker - small.worker) / kMemoryBound);
  std::error_code ignored;
  fs::remove_all(bench.scratch, ignored);
  return runtime.close();
}

}  // namespace
}  // namespace assay

int main() {
  const assay::Status status = assay::run();
  if (status.ok()) return 0;
  fmt::print(stderr, "accuracy_pass_bench: {}\n", status.to_string());
  return 1;
}
