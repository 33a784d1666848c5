#pragma once

// The interpreter's limited C API, and objects that own their references. Whoever touches anything
// here holds the interpreter lock.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <string_view>
#include <utility>

namespace assay::python {

// Owns one reference, or none.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  static Ref borrowed(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }
  bool is_none() const { return object_ == Py_None; }

 private:
  PyObject* object_ = nullptr;
};

// A str; null with a Python error set when `text` is not UTF-8.
Ref to_python(std::string_view text);

// str() of any object as UTF-8, what is none replaced; never fails, "" where str() does.
std::string text_of(PyObject* object);

}  // namespace assay::python
