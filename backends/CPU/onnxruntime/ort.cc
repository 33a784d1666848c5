#include "onnxruntime/ort.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace cpu {
namespace {

namespace fs = std::filesystem;
using assay::backend::DType;
using assay::backend::Error;

struct ElementType {
  ONNXTensorElementDataType onnx;
  DType dtype;
};
constexpr std::array<ElementType, 14> kElementTypes = {{
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, DType::kFloat64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, DType::kFloat32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, DType::kFloat16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, DType::kBFloat16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, DType::kFloat8E4M3},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, DType::kInt64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, DType::kInt32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, DType::kInt16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, DType::kInt8},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, DType::kUInt8},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, DType::kBool},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, DType::kUInt16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, DType::kUInt32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, DType::kUInt64},
}};

// The scopes that are alive, latest last.
class LogScopes {
 public:
  void add(const LogLine* log) {
    const std::lock_guard lock(mutex_);
    logs_.push_back(log);
  }
  void remove(const LogLine* log) {
    const std::lock_guard lock(mutex_);
    logs_.erase(std::find(logs_.begin(), logs_.end(), log));
  }
  void write(std::uint32_t level, std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (!logs_.empty()) (*logs_.back())(level, line);
  }

 private:
  std::mutex mutex_;
  std::vector<const LogLine*> logs_;  // guarded by mutex_
};

LogScopes& log_scopes() {
  static LogScopes scopes;
  return scopes;
}

std::uint32_t level_of(OrtLoggingLevel severity) {
  switch (severity) {
    case ORT_LOGGING_LEVEL_VERBOSE:
      return ASSAY_LOG_DEBUG;
    case ORT_LOGGING_LEVEL_INFO:
      return ASSAY_LOG_INFO;
    case ORT_LOGGING_LEVEL_WARNING:
      return ASSAY_LOG_WARNING;
    default:
      return ASSAY_LOG_ERROR;
  }
}

void ORT_API_CALL log_line(void* /*param*/, OrtLoggingLevel severity, const char* /*category*/,
                           const char* /*log_id*/, const char* /*location*/, const char* message) {
  log_scopes().write(level_of(severity), std::string("ONNX Runtime: ") + message);
}

// Folder of the library that this code is in.
fs::path own_folder() {
  Dl_info info{};
  static const int kAnchor = 0;
  if (dladdr(&kAnchor, &info) == 0 || info.dli_fname == nullptr) return {};
  return fs::path(info.dli_fname).parent_path();
}

std::vector<fs::path> library_candidates() {
  std::vector<fs::path> folders;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing of ours sets variables.
  if (const char* named = std::getenv("ASSAY_ONNXRUNTIME_DIR");
      named != nullptr && *named != '\0') {
    // Whoever names a folder wants that one and no other.
    folders = {fs::path(named), fs::path(named) / "lib"};
  } else {
    folders = {own_folder(), fs::path(CPU_BACKEND_ONNXRUNTIME_DIR) / "lib"};
  }
  std::vector<fs::path> candidates;
  for (const fs::path& folder : folders) {
    candidates.push_back(folder / "libonnxruntime.so.1");
    candidates.push_back(folder / "libonnxruntime.so");
  }
  return candidates;
}

// Opened once and never closed: a library that has run threads cannot be unloaded safely.
const OrtApiBase& open_library() {
  // Releases from 1.31 send usage events from a thread of their own unless told not to: an
  // evaluation neither reports on its user nor shares the processor with that. The manifest says
  // the same to workers before they start; this is for programs that open the backend themselves.
  setenv("ORT_DISABLE_TELEMETRY", "1", 1);  // NOLINT(concurrency-mt-unsafe): before its threads
  std::string tried;
  for (const fs::path& candidate : library_candidates()) {
    void* const library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const why = dlerror();  // NOLINT(concurrency-mt-unsafe): per thread in glibc
      tried += std::string("\n  ") + (why != nullptr ? why : candidate.c_str());
      continue;
    }
    using GetBase = const OrtApiBase* (*)();
    const auto get_base = reinterpret_cast<GetBase>(dlsym(library, "OrtGetApiBase"));
    if (get_base != nullptr) return *get_base();
    tried += "\n  " + candidate.native() + ": is not ONNX Runtime (no OrtGetApiBase)";
  }
  throw Error(
      ASSAY_UNAVAILABLE,
      "cannot open ONNX Runtime; run tools/setup, or set ASSAY_ONNXRUNTIME_DIR to the folder "
      "that holds libonnxruntime.so.1. Tried:" +
          tried);
}

const OrtApi* get_api(const OrtApiBase& base) {
  const OrtApi* const api = base.GetApi(ORT_API_VERSION);
  if (api != nullptr) return api;
  throw Error(ASSAY_UNAVAILABLE, std::string("ONNX Runtime ") + base.GetVersionString() +
                                     " is older than 1." + std::to_string(ORT_API_VERSION) +
                                     ", the oldest that this backend runs on");
}

std::int32_t code_of(OrtErrorCode code) {
  switch (code) {
    case ORT_INVALID_ARGUMENT:
    case ORT_INVALID_GRAPH:
      return ASSAY_INVALID_ARGUMENT;
    case ORT_NO_SUCHFILE:
    case ORT_NO_MODEL:
      return ASSAY_NOT_FOUND;
    case ORT_INVALID_PROTOBUF:
      return ASSAY_DATA_LOSS;
    case ORT_NOT_IMPLEMENTED:
      return ASSAY_UNIMPLEMENTED;
    case ORT_MODEL_LOADED:
      return ASSAY_FAILED_PRECONDITION;
    case ORT_ENGINE_ERROR:
    case ORT_RUNTIME_EXCEPTION:
    case ORT_EP_FAIL:
      return ASSAY_INTERNAL;
    default:
      return ASSAY_UNKNOWN;
  }
}

Error as_error(OrtErrorCode code, const std::string& message) {
  return {code_of(code), "ONNX Runtime: " + message};
}

}  // namespace

OnnxRuntime::OnnxRuntime(const OrtApi* api, std::string version)
    : api_(api),
      version_(std::move(version)),
      env_(ORT_LOGGING_LEVEL_WARNING, "assay", &log_line, nullptr) {}

std::shared_ptr<OnnxRuntime> OnnxRuntime::open() {
  static std::mutex mutex;
  static std::weak_ptr<OnnxRuntime> shared;  // guarded by mutex
  const std::lock_guard lock(mutex);
  if (auto running = shared.lock()) return running;
  static const OrtApiBase& base = open_library();
  const OrtApi* const api = get_api(base);
  Ort::InitApi(api);
  try {
    std::shared_ptr<OnnxRuntime> made(new OnnxRuntime(api, base.GetVersionString()));
    shared = made;
    return made;
  } catch (const Ort::Exception& e) {
    throw as_error(e);
  }
}

LogScope::LogScope(LogLine log) : log_(std::move(log)) { log_scopes().add(&log_); }
LogScope::~LogScope() { log_scopes().remove(&log_); }

DType dtype_of(ONNXTensorElementDataType type, const std::string& tensor) {
  for (const ElementType& row : kElementTypes) {
    if (row.onnx == type) return row.dtype;
  }
  throw Error(ASSAY_UNIMPLEMENTED, "\"" + tensor + "\" holds ONNX element type " +
                                       std::to_string(type) +
                                       " (text, complex numbers or less than a byte), which cannot "
                                       "cross the boundary");
}

Error as_error(const Ort::Exception& e) { return as_error(e.GetOrtErrorCode(), e.what()); }

void check(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return;
  const OrtErrorCode code = api.GetErrorCode(status);
  const std::string message = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  throw as_error(code, message);
}

}  // namespace cpu
