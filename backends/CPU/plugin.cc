#include "assay/backend.hpp"
#include "compile_backend_cpu.h"
#include "runtime_backend_cpu.h"

ASSAY_EXPORT_BACKEND(cpu::CompileBackendCPU, cpu::RuntimeBackendCPU)
