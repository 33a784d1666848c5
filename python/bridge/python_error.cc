#include "python_error.h"

#include <atomic>
#include <optional>

namespace assay::python {
namespace {

constexpr int kMostTracebacks = 20;  // a call that fails may do so a million times

struct Exception {
  Ref type, value, traceback;
};

Exception fetch_exception() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value != nullptr && traceback != nullptr) PyException_SetTraceback(value, traceback);
  return {Ref(type), Ref(value), Ref(traceback)};
}

void print_traceback(const Exception& exception) {
  static std::atomic<int> printed{0};
  if (printed.fetch_add(1) >= kMostTracebacks) return;
  if (const Ref module(PyImport_ImportModule("traceback")); module) {
    PyObject* const trace = exception.traceback ? exception.traceback.get() : Py_None;
    const Ref done(PyObject_CallMethod(module.get(), "print_exception", "OOO", exception.type.get(),
                                       exception.value.get(), trace));
  }
  PyErr_Clear();
}

// How assay_host, which knows the vendor's folder and its own exceptions, puts it: code, message.
std::optional<backend::Error> host_describes(const Exception& exception) {
  const Ref errors(PyImport_ImportModule("assay_host.errors"));
  const Ref pair(errors ? PyObject_CallMethod(errors.get(), "describe", "O", exception.value.get())
                        : nullptr);
  PyObject* const code = pair ? PyTuple_GetItem(pair.get(), 0) : nullptr;
  PyObject* const text = code != nullptr ? PyTuple_GetItem(pair.get(), 1) : nullptr;
  const long number = text != nullptr ? PyLong_AsLong(code) : -1;
  PyErr_Clear();
  if (number <= ASSAY_OK || number > ASSAY_DATA_LOSS) return std::nullopt;
  return backend::Error(static_cast<std::int32_t>(number), text_of(text));
}

}  // namespace

Ref to_python(std::string_view text) {
  return Ref(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

std::string text_of(PyObject* object) {
  if (object == nullptr) return "";
  std::string text;
  if (const Ref str(PyObject_Str(object)); str) {
    const Ref bytes(PyUnicode_AsEncodedString(str.get(), "utf-8", "replace"));
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (bytes && PyBytes_AsStringAndSize(bytes.get(), &data, &size) == 0) {
      text.assign(data, static_cast<std::size_t>(size));
    }
  }
  PyErr_Clear();
  return text;
}

backend::Error take_error(const char* method) {
  const Exception exception = fetch_exception();
  if (!exception.value) return {ASSAY_INTERNAL, std::string(method) + " failed without a reason"};
  print_traceback(exception);
  if (PyErr_GivenExceptionMatches(exception.type.get(), PyExc_SystemExit) != 0) {
    return {ASSAY_INTERNAL,
            "the backend called sys.exit(" + text_of(exception.value.get()) + ") in " + method};
  }
  if (std::optional<backend::Error> described = host_describes(exception)) return *described;
  const Ref name(PyObject_GetAttrString(exception.type.get(), "__name__"));
  return {ASSAY_UNKNOWN, text_of(name.get()) + ": " + text_of(exception.value.get())};
}

void require(const Ref& object, const char* method) {
  if (!object) throw take_error(method);
}

}  // namespace assay::python
