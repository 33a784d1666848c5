#include "assay/backend.hpp"
#include "compile_backend_openvino.h"
#include "runtime_backend_openvino.h"

ASSAY_EXPORT_BACKEND(openvino::CompileBackendOPENVINO, openvino::RuntimeBackendOPENVINO)
