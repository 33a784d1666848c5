#include "wrapped.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "assay/backend.hpp"

namespace wrapper {
namespace {

namespace backend = assay::backend;

std::string library_path() {
  const char* const chosen = std::getenv("ASSAY_WRAPPED_LIBRARY");
  return chosen != nullptr && *chosen != '\0' ? chosen : WRAPPER_DEFAULT_LIBRARY;
}

const assay_plugin& open(const assay_host* host) {
  const std::string path = library_path();
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw backend::Error(ASSAY_UNAVAILABLE,
                         "the wrapped backend cannot be opened: " + std::string(dlerror()));
  }
  const auto entry =
      reinterpret_cast<assay_backend_entry>(dlsym(library, ASSAY_BACKEND_ENTRY_NAME));
  if (entry == nullptr) {
    throw backend::Error(ASSAY_UNAVAILABLE, path + " has no " ASSAY_BACKEND_ENTRY_NAME);
  }
  const assay_plugin* plugin = nullptr;
  backend::detail::HostError failure;
  failure.check(entry(host, &plugin, &failure.error));
  return *plugin;
}

}  // namespace

const assay_plugin& wrapped_plugin(const assay_host* host) {
  static const assay_plugin& plugin = open(host);
  return plugin;
}

}  // namespace wrapper
