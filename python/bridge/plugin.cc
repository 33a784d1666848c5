#include "compile_backend_python.h"
#include "runtime_backend_python.h"

ASSAY_EXPORT_BACKEND(assay::python::CompileBackendPython, assay::python::RuntimeBackendPython)
