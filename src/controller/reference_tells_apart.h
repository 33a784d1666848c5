#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace assay::controller {

// True when the outputs in `store` clearly differ from sample to sample: between more than a
// quarter of those that follow each other, by more than a sixteenth of an output's largest
// magnitude. A model that gives one class, or nothing, for all of them is no cache.
Result<bool> tells_apart(const std::filesystem::path& store, std::span<const std::size_t> samples);

}  // namespace assay::controller
