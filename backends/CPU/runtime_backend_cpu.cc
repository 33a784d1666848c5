#include "runtime_backend_cpu.h"

#include <cstdint>
#include <string_view>

#include "options.h"
#include "usable_cpus.h"

namespace cpu {

using assay::backend::Error;

std::string RuntimeBackendCPU::version() {
  return runtime_versions() + ", CPU backend " CPU_BACKEND_VERSION;
}

void RuntimeBackendCPU::load(const assay::backend::LoadRequest& request) {
  model_.reset();  // two models at once would be measured against each other
  const Artifact artifact = read_artifact(request.artifact_folder);
  LoadSetup setup;
  setup.cpus = request.cpus.empty() ? usable_cpu_count() : static_cast<int>(request.cpus.size());
  setup.log = [this](std::uint32_t level, std::string_view line) { log(level, line); };
  model_ = module_for(artifact.format).load(request, artifact, setup);
}

assay::backend::ProbeResult RuntimeBackendCPU::probe() {
  assay::backend::ProbeResult result;
  result.devices.push_back({0, processor_name(), {}, -1, 0});
  try {
    result.sdk_version = runtime_versions();
    result.available = true;
  } catch (const Error& e) {
    result.reason = e.what();
  }
  return result;
}

}  // namespace cpu
