#include "host_module.h"

#include <cstdlib>

#include "python_error.h"

namespace assay::python {
namespace {

constexpr const char* kModule = "assay_host.bridge";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? "" : value;
}

// Python's own way from a file name to text, which keeps what is not UTF-8.
Ref path_to_python(const std::string& path) {
  return Ref(PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

Ref function_of(PyObject* module, const char* function) {
  Ref found(PyObject_GetAttrString(module, function));
  require(found, function);
  return found;
}

Ref call_with(PyObject* module, const char* function, const Ref* arguments, std::size_t count) {
  const Ref callee = function_of(module, function);
  const Ref packed(PyTuple_New(static_cast<Py_ssize_t>(count)));
  require(packed, function);
  for (std::size_t i = 0; i < count; ++i) {
    require(arguments[i], function);
    PyTuple_SetItem(packed.get(), static_cast<Py_ssize_t>(i),
                    Ref::borrowed(arguments[i].get()).release());
  }
  Ref result(PyObject_CallObject(callee.get(), packed.get()));
  require(result, function);
  return result;
}

}  // namespace

PyObject* host_module() {
  static PyObject* opened = nullptr;  // guarded by the interpreter lock
  if (opened != nullptr) return opened;
  Ref module(PyImport_ImportModule(kModule));
  require(module, "opening the backend");
  const Ref arguments[] = {path_to_python(variable("ASSAY_PYTHON_BACKEND")),
                           to_python(variable("ASSAY_PYTHON_HARDWARE"))};
  call_with(module.get(), "open", arguments, 2);
  opened = module.release();
  return opened;
}

Ref call(const char* function, const Ref* arguments, std::size_t count) {
  return call_with(host_module(), function, arguments, count);
}

std::string text_result(const Ref& result, const char* function) {
  if (PyUnicode_Check(result.get()) == 0) {
    throw backend::Error(ASSAY_INTERNAL, std::string(kModule) + "." + function +
                                             " returned what is no text: " + text_of(result.get()));
  }
  return text_of(result.get());
}

}  // namespace assay::python
