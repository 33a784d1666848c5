#pragma once

// ONNX Runtime's library, opened at run time so that any release not older than the headers serves.
// The one header that brings in ONNX Runtime's own; included by this folder only.

#include <onnxruntime_cxx_api.h>

#include <memory>
#include <string>

#include "assay/backend.hpp"
#include "module.h"

namespace cpu {

class OnnxRuntime {
 public:
  // Looked for in $ASSAY_ONNXRUNTIME_DIR, beside this backend's library, where the build had it.
  // All users share one; it goes with the last, the library itself stays. Throws ASSAY_UNAVAILABLE
  // naming the places. Thread-safe.
  static std::shared_ptr<OnnxRuntime> open();

  OnnxRuntime(const OnnxRuntime&) = delete;
  OnnxRuntime& operator=(const OnnxRuntime&) = delete;

  const OrtApi& api() const { return *api_; }
  Ort::Env& env() { return env_; }
  const std::string& version() const { return version_; }  // "1.31.1"

 private:
  OnnxRuntime(const OrtApi* api, std::string version);

  const OrtApi* api_;
  std::string version_;
  Ort::Env env_;
};

// While one is alive, what ONNX Runtime logs goes to the latest of them; otherwise nowhere.
class LogScope {
 public:
  explicit LogScope(LogLine log);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  LogLine log_;
};

// The boundary's dtype of an element type; throws ASSAY_UNIMPLEMENTED naming `tensor` for those
// that cannot cross (text, complex numbers).
assay::backend::DType dtype_of(ONNXTensorElementDataType type, const std::string& tensor);

// ONNX Runtime's failure as the boundary's.
assay::backend::Error as_error(const Ort::Exception& e);

// Throws, and releases it, when `status` is a failure.
void check(const OrtApi& api, OrtStatus* status);

}  // namespace cpu
