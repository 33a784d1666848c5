#include "assay/backend.hpp"
#include "compile_backend_graphcore.h"
#include "runtime_backend_graphcore.h"

ASSAY_EXPORT_BACKEND(graphcore::CompileBackendGRAPHCORE, graphcore::RuntimeBackendGRAPHCORE)
