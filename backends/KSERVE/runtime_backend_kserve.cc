#include "runtime_backend_kserve.h"

#include <httplib.h>

#include <cstring>
#include <exception>

#include "artifact.h"
#include "assay/extensions.h"

namespace kserve {
namespace {

using assay::backend::Error;

std::int32_t collect(assay_runtime* runtime, const assay_text_sink* facts, assay_error* error) {
  try {
    const std::string text = assay::backend::runtime_of<RuntimeBackendKSERVE>(runtime).facts();
    facts->write(facts->context, text.data(), text.size());
    return ASSAY_OK;
  } catch (const Error& e) {
    return assay_set_error(error, e.code(), e.what());
  } catch (const std::exception& e) {
    return assay_set_error(error, ASSAY_UNKNOWN, e.what());
  }
}

}  // namespace

std::string RuntimeBackendKSERVE::version() {
  return "KSERVE backend " KSERVE_BACKEND_VERSION ", cpp-httplib " CPPHTTPLIB_VERSION;
}

void RuntimeBackendKSERVE::load(const assay::backend::LoadRequest& request) {
  model_.reset();
  for (const std::int32_t id : request.device_ids) {
    if (id == 0) continue;
    throw Error(ASSAY_NOT_FOUND,
                "device " + std::to_string(id) + ": this backend has device 0 only, the server");
  }
  model_ =
      std::make_unique<LoadedModel>(read_artifact(request.path(kArtifactFile)), request.batch_size);
}

assay::backend::ProbeResult RuntimeBackendKSERVE::probe() {
  assay::backend::ProbeResult result;
  result.available = true;
  result.sdk_version = "cpp-httplib " CPPHTTPLIB_VERSION;
  result.devices = {{0, "remote server (option url), not this host", {}, -1, 0}};
  return result;
}

const void* RuntimeBackendKSERVE::get_extension(const char* name) {
  static constexpr assay_facts kFacts = {sizeof(assay_facts), 0, &collect};
  return std::strcmp(name, ASSAY_EXTENSION_FACTS) == 0 ? &kFacts : nullptr;
}

}  // namespace kserve
