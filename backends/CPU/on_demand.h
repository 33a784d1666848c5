#pragma once

// Runtimes that are libraries of their own beside this one, built when a task first needs them.

#include <string>
#include <string_view>

#include "module.h"

namespace cpu {

// A library of one runtime; its text file of the same name holds name and version of the runtime.
struct OnDemandLibrary {
  const char* format;   // model_format that it serves
  const char* stem;     // "libassay_cpu_torch"
  const char* product;  // "LibTorch"
};

// Opens the library, once for the process, and gives its module for the format. Throws
// ASSAY_UNAVAILABLE, naming the command that brings it, when it is not there. Thread-safe.
const Module& open_module(const OnDemandLibrary& library);

// "LibTorch 2.7.1", or "" when the library is not there. Opens nothing.
std::string version_of(const OnDemandLibrary& library);

// What such a library exports: the module for a format, null when it is for none.
inline constexpr const char* kModuleSymbol = "assay_cpu_module";
using ModuleFunction = const Module* (*)(const char* format);

}  // namespace cpu
