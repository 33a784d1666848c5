#pragma once

// One runtime of the CPU backend serves one model format. A new one is a row in module.cc.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "assay/backend.hpp"
#include "options.h"

namespace cpu {

// Takes a line for the log of the run; `level` is one of ASSAY_LOG_*. Any thread.
using LogLine = std::function<void(std::uint32_t level, std::string_view line)>;

// A model that is ready to run.
class Model {
 public:
  virtual ~Model() = default;
  virtual assay::backend::Signature signature() const = 0;
  // One call, as RuntimeBackend::predict. Any number of threads.
  virtual void predict(const assay::backend::Inputs& inputs,
                       assay::backend::Outputs& outputs) const = 0;
};

struct CompileSetup {
  Options options;
  LogLine log;
};

struct LoadSetup {
  int cpus = 1;  // that this process may use
  LogLine log;
};

struct Module {
  const char* format;  // model_format of the model info
  // "ONNX Runtime 1.31.1". Throws ASSAY_UNAVAILABLE when the runtime is not there.
  std::string (*version)();
  // Writes the artifact; returns the compile result.
  std::string (*compile)(const assay::backend::Document& configs, assay::backend::DataLoader& data,
                         assay::backend::CompileJob& job, const CompileSetup& setup);
  std::unique_ptr<Model> (*load)(const assay::backend::LoadRequest& request,
                                 const Artifact& artifact, const LoadSetup& setup);
};

// Throws ASSAY_UNIMPLEMENTED naming the formats there are.
const Module& module_for(std::string_view format);

// The versions of all runtimes, for the report.
std::string runtime_versions();

}  // namespace cpu
