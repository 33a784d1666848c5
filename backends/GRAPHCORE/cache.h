#pragma once

// Artifacts kept from compile to compile, by everything that they depend on.

#include <string>

#include "assay/backend.hpp"
#include "options.h"

namespace graphcore {

// SHA-256 over the bytes of the model and of every file of its folder that it names as external
// data, every option, the workload's batch sizes, what the model info says of inputs, and
// `toolchain`. Never over a file's name or time.
std::string cache_key(const assay::backend::Document& configs, const Options& options,
                      const std::string& toolchain);

// Copies the artifact of this key, and its compile result, out of the cache into `folder`. False
// when the cache has none that is whole; what is damaged is left alone and compiled anew.
bool take_from_cache(const Options& options, const std::string& key, const std::string& folder,
                     std::string& compile_result);

// Puts it there, whole or not at all. A cache that cannot be written is no failure of compile.
void put_into_cache(const Options& options, const std::string& key, const std::string& folder,
                    const std::string& compile_result);

}  // namespace graphcore
