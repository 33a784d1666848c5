#include "sdk/device.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <utility>
#include <vector>

namespace graphcore {
namespace {

using assay::backend::DType;
using assay::backend::Error;
using assay::backend::TensorSpec;

constexpr const char* kModuleFile = "libassay_graphcore_device.so";

// A text that the module may write.
class Message {
 public:
  graphcore_text text() { return {data_.data(), data_.size()}; }
  std::string str() const { return data_.data(); }

 private:
  std::array<char, 1024> data_{};
};

std::int32_t code_of(std::int32_t seam) {
  switch (seam) {
    case GRAPHCORE_DEVICE_UNAVAILABLE:
      return ASSAY_UNAVAILABLE;
    case GRAPHCORE_VERSION_MISMATCH:
      return ASSAY_FAILED_PRECONDITION;
    case GRAPHCORE_OUT_OF_MEMORY:
      return ASSAY_RESOURCE_EXHAUSTED;
    case GRAPHCORE_TIMED_OUT:
      return ASSAY_DEADLINE_EXCEEDED;
    default:
      return ASSAY_UNKNOWN;
  }
}

void require(std::int32_t seam, const char* what, const Message& message) {
  if (seam == GRAPHCORE_OK) return;
  const std::string text = message.str();
  throw Error(code_of(seam),
              std::string(what) + ": " + (text.empty() ? "no reason was given" : text));
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t dim : shape) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return "[" + text + "]";
}

std::uint64_t bytes_of(const TensorSpec& spec) {
  std::uint64_t bytes = size_of(spec.dtype);
  for (const std::int64_t dim : spec.shape) bytes *= static_cast<std::uint64_t>(dim);
  return bytes;
}

}  // namespace

const graphcore_module& open_module(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ASSAY_UNAVAILABLE, std::string("the module of the vendor's runtime: ") +
                                       ::dlerror());  // NOLINT(concurrency-mt-unsafe)
  }
  const auto function =
      reinterpret_cast<graphcore_module_function>(::dlsym(library, GRAPHCORE_SEAM_SYMBOL));
  const graphcore_module* const module = function == nullptr ? nullptr : function();
  if (module == nullptr) throw Error(ASSAY_UNAVAILABLE, path + " has no " GRAPHCORE_SEAM_SYMBOL);
  if (module->seam_version == GRAPHCORE_SEAM_VERSION) return *module;
  throw Error(ASSAY_FAILED_PRECONDITION,
              path + " speaks version " + std::to_string(module->seam_version) +
                  " of the seam, this backend version " + std::to_string(GRAPHCORE_SEAM_VERSION));
}

std::string module_path() {
  static const char kHere = 0;
  Dl_info info{};
  if (::dladdr(&kHere, &info) == 0 || info.dli_fname == nullptr) return kModuleFile;
  return std::filesystem::path(info.dli_fname).parent_path() / kModuleFile;
}

std::uint32_t count_devices(const graphcore_module& module) {
  Message message;
  std::uint32_t devices = 0;
  require(module.device_info(&devices, message.text()), "device_info", message);
  return devices;
}

Device::Device(const graphcore_module& module, const std::string& executable,
               std::uint64_t timeout_ms)
    : module_(&module) {
  Message message;
  require(module.load(executable.c_str(), timeout_ms, &executable_, message.text()), "load",
          message);
  try {
    describe();
  } catch (...) {
    Message ignored;
    module.close(std::exchange(executable_, nullptr), ignored.text());
    throw;
  }
}

Device::~Device() {
  Message ignored;
  if (executable_ != nullptr) module_->close(executable_, ignored.text());
}

void Device::describe() {
  Message message;
  struct Described {
    assay::backend::Signature* signature;
    std::string disagreement;  // of a size and its shape; the first one
  } described{&signature_, ""};
  const auto add = [](void* context, std::int32_t is_input, const graphcore_tensor* tensor) {
    auto& told = *static_cast<Described*>(context);
    auto& list = is_input != 0 ? told.signature->inputs : told.signature->outputs;
    list.push_back({tensor->name,
                    static_cast<DType>(tensor->dtype),
                    {tensor->shape, tensor->shape + tensor->rank}});
    const TensorSpec& spec = list.back();
    if (tensor->size_bytes == bytes_of(spec) || !told.disagreement.empty()) return;
    told.disagreement = "describe: \"" + spec.name + "\" takes " +
                        std::to_string(tensor->size_bytes) + " bytes, " + text_of(spec.shape) +
                        " is " + std::to_string(bytes_of(spec));
  };
  require(module_->describe(executable_, add, &described, message.text()), "describe", message);
  for (const auto* list : {&signature_.inputs, &signature_.outputs}) {
    for (const TensorSpec& spec : *list) {
      if (size_of(spec.dtype) > 0) continue;
      throw Error(ASSAY_INTERNAL, "describe: \"" + spec.name + "\" has no dtype of ours");
    }
  }
  if (!described.disagreement.empty()) throw Error(ASSAY_INTERNAL, described.disagreement);
}

void Device::run(const assay::backend::Inputs& inputs, assay::backend::Outputs& outputs,
                 std::uint64_t timeout_ms) {
  if (inputs.size() != signature_.inputs.size()) {
    throw Error(ASSAY_INVALID_ARGUMENT, "run: got " + std::to_string(inputs.size()) +
                                            " inputs, the executable has " +
                                            std::to_string(signature_.inputs.size()));
  }
  std::vector<graphcore_tensor> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& spec = signature_.inputs[i];
    if (inputs[i].size_bytes() != bytes_of(spec)) {
      throw Error(ASSAY_INVALID_ARGUMENT, "run: input \"" + spec.name + "\" has " +
                                              std::to_string(inputs[i].size_bytes()) + " bytes, " +
                                              text_of(spec.shape) + " takes " +
                                              std::to_string(bytes_of(spec)));
    }
    given.push_back({spec.name.c_str(), static_cast<std::uint32_t>(spec.dtype),
                     static_cast<std::uint32_t>(spec.shape.size()), spec.shape.data(),
                     bytes_of(spec), const_cast<std::byte*>(inputs[i].data<std::byte>())});
  }
  std::vector<graphcore_tensor> wanted;
  for (std::size_t i = 0; i < signature_.outputs.size(); ++i) {
    const TensorSpec& spec = signature_.outputs[i];
    wanted.push_back({spec.name.c_str(), static_cast<std::uint32_t>(spec.dtype),
                      static_cast<std::uint32_t>(spec.shape.size()), spec.shape.data(),
                      bytes_of(spec), outputs.allocate(i, spec.shape.data(), spec.shape.size())});
  }
  Message message;
  require(module_->run(executable_, given.data(), given.size(), wanted.data(), wanted.size(),
                       timeout_ms, message.text()),
          "run", message);
}

void Device::close() {
  if (executable_ == nullptr) return;
  Message message;
  require(module_->close(std::exchange(executable_, nullptr), message.text()), "close", message);
}

}  // namespace graphcore
