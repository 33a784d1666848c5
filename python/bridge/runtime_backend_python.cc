#include "runtime_backend_python.h"

#include <array>
#include <cstring>

#include "assay/extensions.h"
#include "host_module.h"
#include "interpreter_lock.h"
#include "loader_object.h"
#include "python_error.h"

namespace assay::python {
namespace {

constexpr std::size_t kMostAxes = 32;
constexpr int kReadOnly = 0x100;  // PyBUF_READ, which the limited API takes and does not name
using Wait = InterpreterLock::Wait;

backend::Error malformed(const char* function, const std::string& what) {
  return {ASSAY_INTERNAL, std::string("assay_host.bridge.") + function + ": " + what};
}

// [(name, dtype code, shape), ...] as specs.
std::vector<backend::TensorSpec> specs_of(PyObject* list) {
  std::vector<backend::TensorSpec> specs;
  const Py_ssize_t count = PySequence_Size(list);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(list, i));
    require(item, "signature");
    PyObject* const name = PyTuple_GetItem(item.get(), 0);
    PyObject* const dtype = name == nullptr ? nullptr : PyTuple_GetItem(item.get(), 1);
    PyObject* const shape = dtype == nullptr ? nullptr : PyTuple_GetItem(item.get(), 2);
    if (shape == nullptr) throw take_error("signature");
    backend::TensorSpec spec;
    spec.name = text_of(name);
    spec.dtype = static_cast<backend::DType>(PyLong_AsUnsignedLong(dtype));
    for (Py_ssize_t axis = 0; axis < PyTuple_Size(shape); ++axis) {
      spec.shape.push_back(PyLong_AsLongLong(PyTuple_GetItem(shape, axis)));
    }
    if (PyErr_Occurred() != nullptr) throw take_error("signature");
    if (backend::size_of(spec.dtype) == 0) {
      throw malformed("signature", "\"" + spec.name + "\" has an unknown dtype code");
    }
    specs.push_back(std::move(spec));
  }
  if (count < 0) throw take_error("signature");
  return specs;
}

// The inputs as read-only memoryviews over the host's memory: nothing is copied.
Ref lend(const backend::Inputs& inputs) {
  Ref views(PyTuple_New(static_cast<Py_ssize_t>(inputs.size())));
  require(views, "predict");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const backend::Tensor tensor = inputs[i];
    // The interpreter's signature is not const-correct; the view is read-only.
    char* const data = const_cast<char*>(tensor.data<char>());  // NOLINT
    Ref view(
        PyMemoryView_FromMemory(data, static_cast<Py_ssize_t>(tensor.size_bytes()), kReadOnly));
    require(view, "predict");
    PyTuple_SetItem(views.get(), static_cast<Py_ssize_t>(i), view.release());
  }
  return views;
}

std::string json_list(PyObject* texts) {
  std::string json = "[";
  const Py_ssize_t count = PySequence_Size(texts);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(texts, i));
    json += (i == 0 ? "" : ",") + backend::json_quoted(text_of(item.get()));
  }
  PyErr_Clear();
  return json + "]";
}

std::int32_t collect_facts(assay_runtime* runtime, const assay_text_sink* facts,
                           assay_error* error) {
  try {
    const std::string text = backend::runtime_of<RuntimeBackendPython>(runtime).facts();
    facts->write(facts->context, text.data(), text.size());
    return ASSAY_OK;
  } catch (const backend::Error& failure) {
    return assay_set_error(error, failure.code(), failure.what());
  } catch (const std::exception& failure) {
    return assay_set_error(error, ASSAY_UNKNOWN, failure.what());
  }
}

}  // namespace

std::string RuntimeBackendPython::version() {
  const InterpreterLock lock;
  return text_of(call("version").get());
}

void RuntimeBackendPython::load(const backend::LoadRequest& request) {
  const InterpreterLock lock;
  call("load", to_python(request.configs.json()), to_python(request.compile_result.json()),
       to_python(request.artifact_folder), Ref(PyLong_FromLongLong(request.batch_size)));
  const Ref both = call("signature");
  PyObject* const inputs = PyTuple_GetItem(both.get(), 0);
  PyObject* const outputs = inputs == nullptr ? nullptr : PyTuple_GetItem(both.get(), 1);
  if (outputs == nullptr) throw take_error("signature");
  signature_ = {specs_of(inputs), specs_of(outputs)};
  predict_ = Ref(PyObject_GetAttrString(host_module(), "predict"));
  require(predict_, "predict");
}

std::optional<std::int64_t> RuntimeBackendPython::get_loaded_batch_size() {
  const InterpreterLock lock;
  const Ref size = call("loaded_batch_size");
  const long long number = PyLong_AsLongLong(size.get());
  if (PyErr_Occurred() != nullptr) throw take_error("get_loaded_batch_size");
  return number;
}

void RuntimeBackendPython::predict(const backend::Inputs& inputs, backend::Outputs& outputs) {
  const InterpreterLock lock(Wait::kCounted);
  const Ref views = lend(inputs);
  const Ref given(PyObject_CallFunctionObjArgs(predict_.get(), views.get(), nullptr));
  require(given, "predict");
  const Py_ssize_t count = PyTuple_Size(given.get());
  if (count != static_cast<Py_ssize_t>(outputs.size())) {
    PyErr_Clear();
    throw malformed("predict", std::to_string(count) + " outputs, the signature has " +
                                   std::to_string(outputs.size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    give(PyTuple_GetItem(given.get(), static_cast<Py_ssize_t>(i)), i, outputs);
  }
}

// One output: (address, bytes, dtype code, shape), copied into the host's memory.
void RuntimeBackendPython::give(PyObject* output, std::size_t index,
                                backend::Outputs& outputs) const {
  const backend::TensorSpec& spec = signature_.outputs[index];
  if (PyTuple_Size(output) != 4) throw take_error("predict");
  const void* const from = PyLong_AsVoidPtr(PyTuple_GetItem(output, 0));
  const std::size_t size_bytes = PyLong_AsSize_t(PyTuple_GetItem(output, 1));
  const auto dtype = static_cast<backend::DType>(PyLong_AsUnsignedLong(PyTuple_GetItem(output, 2)));
  PyObject* const shape = PyTuple_GetItem(output, 3);
  const Py_ssize_t rank = PyTuple_Size(shape);
  std::array<std::int64_t, kMostAxes> dimensions{};
  std::size_t wanted_bytes = backend::size_of(dtype);
  for (Py_ssize_t axis = 0; axis < std::min<Py_ssize_t>(rank, kMostAxes); ++axis) {
    const std::int64_t size = PyLong_AsLongLong(PyTuple_GetItem(shape, axis));
    dimensions[static_cast<std::size_t>(axis)] = size;
    wanted_bytes *= static_cast<std::size_t>(size);
  }
  if (PyErr_Occurred() != nullptr) throw take_error("predict");
  if (rank > static_cast<Py_ssize_t>(kMostAxes) || dtype != spec.dtype ||
      wanted_bytes != size_bytes) {
    throw malformed("predict", "output \"" + spec.name + "\" has dtype code " +
                                   std::to_string(static_cast<unsigned>(dtype)) + ", rank " +
                                   std::to_string(rank) + " and " + std::to_string(size_bytes) +
                                   " bytes; loaded was dtype code " +
                                   std::to_string(static_cast<unsigned>(spec.dtype)) +
                                   ", its shape makes " + std::to_string(wanted_bytes) + " bytes");
  }
  void* const to = outputs.allocate(index, dimensions.data(), static_cast<std::size_t>(rank));
  if (size_bytes > 0) std::memcpy(to, from, size_bytes);
}

std::string RuntimeBackendPython::benchmark(backend::DataLoader& dataloader) {
  const InterpreterLock lock;
  const LoaderObject loader(dataloader);
  const Ref claims = call("benchmark", Ref::borrowed(loader.get()));
  if (claims.is_none()) {
    throw backend::Error(ASSAY_UNIMPLEMENTED, "the backend has no benchmark of its own");
  }
  return text_result(claims, "benchmark");
}

// The host module's objects stay: another handle of this process goes on with what was compiled.
void RuntimeBackendPython::close() {
  const InterpreterLock lock;
  predict_ = Ref();
}

const void* RuntimeBackendPython::get_extension(const char* name) {
  static constexpr assay_facts kFacts = {sizeof(assay_facts), 0, &collect_facts};
  return std::strcmp(name, ASSAY_EXTENSION_FACTS) == 0 ? &kFacts : nullptr;
}

std::string RuntimeBackendPython::facts() {
  const LockWait wait = lock_wait();
  const InterpreterLock lock;
  const Ref notes = call("notes");
  return "{\"notes\":" + json_list(notes.get()) +
         ",\"interpreter_lock\":{\"calls\":" + std::to_string(wait.calls) +
         ",\"wait_ns\":" + std::to_string(wait.wait_ns) + "}}";
}

}  // namespace assay::python
