#include "compile_backend_python.h"

#include "host_module.h"
#include "interpreter_lock.h"
#include "loader_object.h"
#include "python_error.h"

namespace assay::python {
namespace {

// traits() -> (hardware_type, need_reload, need_quant).
Ref trait(Py_ssize_t index) {
  const Ref traits = call("traits");
  Ref item = Ref::borrowed(PyTuple_GetItem(traits.get(), index));
  require(item, "traits");
  return item;
}

bool flag(Py_ssize_t index) {
  const InterpreterLock lock;
  const int truth = PyObject_IsTrue(trait(index).get());
  if (truth < 0) throw take_error("traits");
  return truth != 0;
}

constexpr const char* kJobName = "assay.compile_job";

// progress(done, stage) for Python, over the job in the capsule `self`. A job that was cancelled is
// an exception there.
PyObject* report_progress(PyObject* self, PyObject* arguments) {
  double done = 0;
  PyObject* stage = nullptr;
  if (PyArg_ParseTuple(arguments, "dO:progress", &done, &stage) == 0) return nullptr;
  const auto* job = static_cast<const backend::CompileJob*>(PyCapsule_GetPointer(self, kJobName));
  if (job == nullptr) return nullptr;
  try {
    job->progress(done, text_of(stage).c_str());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
    return nullptr;
  }
  return Ref::borrowed(Py_None).release();
}

PyMethodDef progress_method = {  // NOLINT: the interpreter keeps it
    "progress", report_progress, METH_VARARGS, "progress(done, stage)"};

}  // namespace

std::string CompileBackendPython::hardware_type() {
  const InterpreterLock lock;
  return text_of(trait(0).get());
}

bool CompileBackendPython::need_reload() { return flag(1); }
bool CompileBackendPython::need_quant() { return flag(2); }

std::string CompileBackendPython::get_interact_profile(const backend::Document& configs) {
  const InterpreterLock lock;
  return text_result(call("interact_profile", to_python(configs.json())), "interact_profile");
}

std::optional<std::string> CompileBackendPython::pre_optimize(const backend::Document& configs,
                                                              const std::string& folder) {
  const InterpreterLock lock;
  const Ref changed = call("pre_optimize", to_python(configs.json()), to_python(folder));
  if (changed.is_none()) return std::nullopt;
  return text_result(changed, "pre_optimize");
}

std::optional<std::vector<std::int64_t>> CompileBackendPython::get_best_batch_size() {
  const InterpreterLock lock;
  const Ref best = call("best_batch_size");
  if (best.is_none()) return std::nullopt;
  std::vector<std::int64_t> sizes;
  const Py_ssize_t count = PySequence_Size(best.get());
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(best.get(), i));
    require(item, "best_batch_size");
    sizes.push_back(PyLong_AsLongLong(item.get()));
  }
  if (PyErr_Occurred() != nullptr) throw take_error("best_batch_size");
  return sizes;
}

std::string CompileBackendPython::compile(const backend::Document& configs,
                                          backend::DataLoader& dataloader,
                                          backend::CompileJob& job) {
  const InterpreterLock lock;
  const LoaderObject loader(dataloader);
  const Ref capsule(PyCapsule_New(&job, kJobName, nullptr));
  require(capsule, "compile");
  Ref progress(PyCFunction_New(&progress_method, capsule.get()));
  const Ref result = call("compile", to_python(configs.json()), to_python(job.path("")),
                          Ref::borrowed(loader.get()), std::move(progress));
  return text_result(result, "compile");
}

}  // namespace assay::python
