#include "on_demand.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>

namespace cpu {
namespace {

namespace fs = std::filesystem;
using assay::backend::Error;

// Where this library lies.
fs::path own_folder() {
  static const char kHere = 0;
  Dl_info info{};
  if (::dladdr(&kHere, &info) == 0 || info.dli_fname == nullptr) return {};
  return fs::path(info.dli_fname).parent_path();
}

fs::path file_of(const OnDemandLibrary& library, const char* extension) {
  return own_folder() / (std::string(library.stem) + extension);
}

[[noreturn]] void refuse(const OnDemandLibrary& library, const std::string& why) {
  const std::string format = library.format;
  throw Error(ASSAY_UNAVAILABLE, "model_format \"" + format + "\" is run by " + library.product +
                                     ", whose module cannot be used: " + why +
                                     "; ./run.sh with a task of that format brings it, and so does "
                                     "tools/setup --backend CPU/" +
                                     format + " before a build");
}

}  // namespace

const Module& open_module(const OnDemandLibrary& library) {
  const fs::path path = file_of(library, ".so");
  std::error_code error;
  if (!fs::exists(path, error)) refuse(library, "there is no " + path.string());
  // Never closed: the runtimes behind keep threads.
  void* const opened = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) refuse(library, ::dlerror());  // NOLINT(concurrency-mt-unsafe)
  const auto function = reinterpret_cast<ModuleFunction>(::dlsym(opened, kModuleSymbol));
  const Module* const module = function == nullptr ? nullptr : function(library.format);
  if (module == nullptr) refuse(library, path.string() + " has none");
  return *module;
}

std::string version_of(const OnDemandLibrary& library) {
  std::error_code error;
  if (!fs::exists(file_of(library, ".so"), error)) return {};
  std::ifstream file(file_of(library, ".txt"));
  std::string version;
  std::getline(file, version);
  return version;
}

}  // namespace cpu
