#include "runtime_backend_openvino.h"

#include "openvino_core.h"

namespace openvino {

using assay::backend::Error;
using assay::backend::LoadRequest;

std::string RuntimeBackendOPENVINO::version() {
  return "OpenVINO " + runtime_build() + ", OPENVINO backend " OPENVINO_BACKEND_VERSION;
}

void RuntimeBackendOPENVINO::load(const LoadRequest& request) {
  model_.reset();  // two models at once would be measured against each other
  for (const std::int32_t device : request.device_ids) {
    if (device == 0) continue;
    throw Error(ASSAY_INVALID_ARGUMENT, "device " + std::to_string(device) +
                                            ": this backend has device 0 only, " + device_name());
  }
  model_ = load_model(request);
}

assay::backend::ProbeResult RuntimeBackendOPENVINO::probe() {
  assay::backend::ProbeResult result;
  result.sdk_version = runtime_build();
  try {
    result.devices.push_back({0, device_name(), {}, -1, 0});
    result.available = true;
  } catch (const std::exception& e) {
    result.reason = "OpenVINO finds no CPU: " + reason_of(e);
  }
  return result;
}

}  // namespace openvino
