// What a call of a Python backend costs over the same call in C++, for an input of 600 kB (FLOAT32
// [1,3,224,224]). Both run in their own workers, through the loop that measures rows; rounds take
// turns, and the median difference counts. Goal: at most 20 microseconds a call.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "controller/installation.h"
#include "controller/python_worker.h"
#include "controller/session.h"
#include "loadgen/statistics.h"

namespace assay::controller {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 5;
constexpr double kGoalUs = 20;
constexpr const char* kConfigs = R"({
  "workload": {"model": "nothing", "iterations": 1, "batch_sizes": [1]}, "interact_info": {},
  "model_info": {"model": "nothing", "inputs": "x", "outputs": "y", "input_type": "FLOAT32",
                 "input_shape": {"x": [1, 3, 224, 224]}, "framework": "Onnx", "model_format": "onnx",
                 "model_path": "", "dataset_name": null, "max_batch_size": 1}})";

struct Cost {
  double call_us = 0;
  double lock_wait_us = 0;
};

std::vector<TensorSpec> inputs() { return {{"x", DType::kFloat32, {1, 3, 224, 224}}}; }

// The lock's own account of the calls so far; 0 where there is none.
double lock_wait_us(const Json& facts) {
  const Json lock = facts.value("interpreter_lock", Json::object());
  const double calls = lock.value("calls", 0.0);
  return calls > 0 ? lock.value("wait_ns", 0.0) / calls / 1e3 : 0.0;
}

Result<Cost> measure(const SessionSettings& settings, const host::Manifest& manifest) {
  worker::PhaseEnd end;
  ASSIGN_OR_RETURN(Session session,
                   Session::start(settings, manifest, manifest.hardware_type, end));
  const fs::path artifact = settings.log_folder / "artifact";
  std::error_code error;
  fs::remove_all(artifact, error);
  fs::create_directories(artifact, error);
  ASSIGN_OR_RETURN(const Json compiled,
                   session.call_unbounded("compile", Json{{"configs", kConfigs},
                                                          {"artifact_folder", artifact.string()}}));
  ASSIGN_OR_RETURN(const LoadedModel loaded,
                   session.load({kConfigs, compiled.value("result", ""), artifact}, 1, inputs()));
  RETURN_IF_ERROR(session.share_arena({.inputs = inputs(),
                                       .outputs = loaded.outputs,
                                       .input_slots = 1,
                                       .output_slots = 1,
                                       .output_capacity_bytes = 4096}));
  ASSIGN_OR_RETURN(const Json answer,
                   session.call("harness", Json::object(), std::chrono::seconds(300)));
  ASSIGN_OR_RETURN(const Json facts,
                   session.call("facts", Json::object(), std::chrono::seconds(60)));
  session.finish(ok_status());
  return Cost{answer["harness"].value("stamped_ns_p50", 0.0) / 1e3,
              lock_wait_us(facts.value("facts", Json::object()))};
}

Status run(const std::string& python, const fs::path& scratch) {
  ASSIGN_OR_RETURN(const fs::path self, own_executable());
  ASSIGN_OR_RETURN(const Installation installation, find_installation(self));
  SessionSettings settings;
  settings.worker_program = installation.worker;
  settings.log_folder = scratch;
  settings.python =
      PythonWorker{.interpreter = python,
                   .package = installation.python,
                   .worker_library = installation.worker.parent_path() / "libassay_worker.so",
                   .bridge = installation.worker.parent_path() / "libassay_python_backend.so",
                   .scratch = scratch / "python"};
  fs::create_directories(settings.python->scratch);
  ASSIGN_OR_RETURN(const host::Manifest in_python, host::read_manifest(ASSAY_NOTHING_PYTHON));
  host::Manifest in_cpp;
  in_cpp.folder = fs::path(ASSAY_NOTHING_CPP).parent_path();
  in_cpp.hardware_type = "NOTHING_CPP";
  in_cpp.library = fs::path(ASSAY_NOTHING_CPP).filename();
  std::vector<double> extra_us;
  for (int round = 0; round < kRounds; ++round) {
    ASSIGN_OR_RETURN(const Cost cpp, measure(settings, in_cpp));
    ASSIGN_OR_RETURN(const Cost py, measure(settings, in_python));
    extra_us.push_back(py.call_us - cpp.call_us);
    fmt::print("round {}: C++ {:.3f} us, Python {:.3f} us, of which {:.3f} us wait for the lock\n",
               round + 1, cpp.call_us, py.call_us, py.lock_wait_us);
  }
  const double extra = loadgen::median(extra_us);
  fmt::print("a call through Python takes {:.2f} us more than the same in C++; goal {:.0f} us\n",
             extra, kGoalUs);
  fmt::print("python_overhead_us ratio {:.3f} goal <= 1\n", extra / kGoalUs);
  return ok_status();
}

}  // namespace
}  // namespace assay::controller

// usage: python_overhead_bench [PYTHON]: an interpreter with NumPy
int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const std::string python = argc > 1 ? argv[1] : ASSAY_ORACLE_PYTHON;
  if (::access(python.c_str(), X_OK) != 0) {
    fmt::print(stderr, "there is no {}; tools/setup --test brings it, or name one with NumPy\n",
               python);
    return 1;
  }
  const fs::path scratch =
      fs::temp_directory_path() / fmt::format("assay-python-overhead-{}", ::getpid());
  std::error_code error;
  fs::create_directories(scratch, error);
  const assay::Status status = assay::controller::run(python, scratch);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.to_string());
  fs::remove_all(scratch, error);
  return status.ok() ? 0 : 1;
}
