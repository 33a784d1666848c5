#include "assay/backend.hpp"
#include "compile_backend_kserve.h"
#include "runtime_backend_kserve.h"

ASSAY_EXPORT_BACKEND(kserve::CompileBackendKSERVE, kserve::RuntimeBackendKSERVE)
