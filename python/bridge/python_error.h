#pragma once

#include "assay/backend.hpp"
#include "python_api.h"

namespace assay::python {

// The Python exception that is set, as a failure of `method`: code and text as assay_host puts
// them, which is its type, its text and where in the vendor's folder it came from. The whole
// traceback goes to standard error, which is the log of the phase. Clears the exception.
backend::Error take_error(const char* method);

// The same, thrown, when `object` is null.
void require(const Ref& object, const char* method);

}  // namespace assay::python
