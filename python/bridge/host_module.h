#pragma once

// Module assay_host.bridge, which knows what published Python folders look like. Its functions are
// called by name, with the interpreter lock held.

#include <string>
#include <string_view>

#include "python_api.h"

namespace assay::python {

// The module, with the vendor's folder opened. The first call imports what is the vendor's, so it
// may take long and fail in any way. Throws backend::Error. Borrowed, for ever.
PyObject* host_module();

// Calls a function of it with arguments that may be null: then a Python error is set already.
// Throws backend::Error.
Ref call(const char* function, const Ref* arguments, std::size_t count);

template <typename... Arguments>
Ref call(const char* function, Arguments... arguments) {
  const Ref list[sizeof...(arguments) + 1] = {std::move(arguments)..., Ref()};
  return call(function, list, sizeof...(arguments));
}

// What a function returned, as text; throws where it is none. `function` for the message.
std::string text_result(const Ref& result, const char* function);

}  // namespace assay::python
