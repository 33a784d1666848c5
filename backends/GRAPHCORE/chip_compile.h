#pragma once

// Compiling for a real chip, by the vendor's converter.

#include <cstdint>
#include <string>
#include <vector>

#include "assay/backend.hpp"
#include "options.h"

namespace graphcore {

// Whether to go by the chip: device=ipu, or auto where the Poplar SDK is found. Throws
// ASSAY_UNAVAILABLE, saying where was looked, for device=ipu without the SDK.
bool goes_by_chip(const Options& options);

// One executable per batch size, each in a folder of its own ("bs4/executable.popef"), and
// "io.json", the tensors that each takes and gives as the model info has them. Returns the compile
// result. ASSAY_UNIMPLEMENTED for more than one
// batch a step, replica or chip; otherwise errors as convert().
std::string compile_for_chip(const assay::backend::Document& configs,
                             const assay::backend::CompileJob& job, const Options& options,
                             const std::vector<std::int64_t>& batch_sizes);

// The executable in `request`'s compile result that serves its batch size, absolute; "" when the
// artifact is one of the model of the chip. Throws ASSAY_NOT_FOUND with the sizes that there are.
std::string executable_for(const assay::backend::LoadRequest& request);

// A file that replaces the module beside the backend: GRAPHCORE_DEVICE_MODULE, else module_path().
std::string chosen_module();

}  // namespace graphcore
