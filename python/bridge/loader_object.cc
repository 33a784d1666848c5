#include "loader_object.h"

#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "interpreter_lock.h"
#include "python_error.h"

namespace assay::python {
namespace {

// The object's memory; made and freed by Python.
struct Loader {
  PyObject_HEAD                   // a macro that ends with a semicolon of its own
      backend::DataLoader* data;  // null once the call is over
  PyObject* specs;                // of what was read first; null before
};

Loader& loader_of(PyObject* self) { return *reinterpret_cast<Loader*>(self); }

backend::DataLoader* data_of(PyObject* self) { return loader_of(self).data; }

Py_ssize_t bytes_of(std::size_t size) { return static_cast<Py_ssize_t>(size); }

// A memoryview of bytes that are a copy: the host's own go with the next read.
Ref view_of(const backend::Tensor& tensor) {
  const Ref bytes(PyBytes_FromStringAndSize(tensor.data<char>(), bytes_of(tensor.size_bytes())));
  return bytes ? Ref(PyMemoryView_FromObject(bytes.get())) : Ref();
}

Ref views_of(const backend::Inputs& inputs) {
  Ref views(PyTuple_New(bytes_of(inputs.size())));
  for (std::size_t i = 0; views && i < inputs.size(); ++i) {
    Ref view = view_of(inputs[i]);
    if (!view) return {};
    PyTuple_SetItem(views.get(), bytes_of(i), view.release());
  }
  return views;
}

Ref spec_of(const backend::Tensor& tensor) {
  Ref shape(PyTuple_New(bytes_of(tensor.rank())));
  for (std::size_t axis = 0; shape && axis < tensor.rank(); ++axis) {
    PyTuple_SetItem(shape.get(), bytes_of(axis), PyLong_FromLongLong(tensor.dim(axis)));
  }
  if (!shape) return {};
  return Ref(Py_BuildValue("(sIN)", tensor.name(), static_cast<unsigned>(tensor.dtype()),
                           shape.release()));
}

// Asks the host, without the lock: it may take a while. Null with a Python error set.
std::optional<backend::Inputs> read_batch(PyObject* self, std::uint64_t first,
                                          std::uint64_t count) {
  backend::DataLoader* const data = data_of(self);
  if (data == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "the data loader was used after the call it was made for");
    return std::nullopt;
  }
  std::string failure;
  try {
    const InterpreterUnlock unlock;
    return data->read(first, count);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  PyErr_SetString(PyExc_IndexError, failure.c_str());
  return std::nullopt;
}

// Learnt from the first samples that anybody reads: reading one for them alone would be counted as
// the backend's.
bool keep_specs(PyObject* self, const backend::Inputs& batch) {
  if (loader_of(self).specs != nullptr) return true;
  Ref list(PyList_New(0));
  for (std::size_t i = 0; list && i < batch.size(); ++i) {
    const Ref spec = spec_of(batch[i]);
    if (!spec || PyList_Append(list.get(), spec.get()) != 0) return false;
  }
  loader_of(self).specs = list.release();
  return loader_of(self).specs != nullptr;
}

PyObject* read(PyObject* self, PyObject* arguments) {
  unsigned long long first = 0;
  unsigned long long count = 0;
  if (PyArg_ParseTuple(arguments, "KK:read", &first, &count) == 0) return nullptr;
  const std::optional<backend::Inputs> batch = read_batch(self, first, count);
  if (!batch || !keep_specs(self, *batch)) return nullptr;
  return views_of(*batch).release();
}

PyObject* get_size(PyObject* self, void* /*closure*/) {
  const backend::DataLoader* const data = data_of(self);
  return PyLong_FromUnsignedLongLong(data == nullptr ? 0 : data->size());
}

PyObject* get_disjoint(PyObject* self, void* /*closure*/) {
  const backend::DataLoader* const data = data_of(self);
  return PyBool_FromLong(data != nullptr && data->disjoint() ? 1 : 0);
}

PyObject* get_specs(PyObject* self, void* /*closure*/) {
  if (loader_of(self).specs == nullptr) {
    const backend::DataLoader* const data = data_of(self);
    if (data != nullptr && data->size() == 0) return PyList_New(0);
    const std::optional<backend::Inputs> batch = read_batch(self, 0, 1);
    if (!batch || !keep_specs(self, *batch)) return nullptr;
  }
  return Ref::borrowed(loader_of(self).specs).release();
}

// A type that is made at run time is counted by its objects.
void deallocate(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_XDECREF(loader_of(self).specs);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {  // NOLINT: the interpreter keeps and writes to it
    {"read", read, METH_VARARGS, "read(first, count) -> tuple of memoryview"},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef getters[] = {  // NOLINT: likewise
    {"size", get_size, nullptr, "number of samples", nullptr},
    {"disjoint", get_disjoint, nullptr, "whether none of them is evaluated", nullptr},
    {"specs", get_specs, nullptr, "list of (name, dtype code, shape)", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// Made once, kept for the life of the process. Null with a Python error set.
PyObject* loader_type() {
  static PyType_Slot slots[] = {{Py_tp_methods, methods},
                                {Py_tp_getset, getters},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
                                {0, nullptr}};
  static PyType_Spec spec = {"assay_host.Loader", sizeof(Loader), 0, Py_TPFLAGS_DEFAULT, slots};
  static PyObject* const type = PyType_FromSpec(&spec);
  return type;
}

}  // namespace

LoaderObject::LoaderObject(backend::DataLoader& loader) {
  PyObject* const type = loader_type();
  if (type == nullptr) throw take_error("the data loader");
  object_ = Ref(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type), 0));
  require(object_, "the data loader");
  loader_of(object_.get()).data = &loader;
}

LoaderObject::~LoaderObject() { loader_of(object_.get()).data = nullptr; }

}  // namespace assay::python
