#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"

namespace assay::controller {

// Where this Assay's files are: a checkout, or what `cmake --install` made.
struct Installation {
  std::filesystem::path root;                   // holds the folders below
  std::filesystem::path workloads;              // <task>.json
  std::filesystem::path model_zoo;              // <model>.json
  std::filesystem::path datasets;               // data that comes with Assay
  std::vector<std::filesystem::path> backends;  // searched in order for <HW>/manifest.json
  std::vector<std::filesystem::path>
      own_backends;                    // those of them that ASSAY_BACKENDS did not name
  std::filesystem::path fetch_script;  // tools/fetch/fetch.py
  std::filesystem::path worker;        // the worker's executable; beside it what a Python backend
                                       // needs: libassay_worker.so, libassay_python_backend.so
  std::filesystem::path python;        // holds the package assay_host
  std::filesystem::path cache;         // the user's: downloads, fetched models and data, references
};

// `executable` is the running program. ASSAY_ROOT overrides the root, ASSAY_BACKENDS (entries
// separated by ':') is searched for backends first, ASSAY_CACHE is the cache. kNotFound says where
// was looked.
Result<Installation> find_installation(const std::filesystem::path& executable);

// /proc/self/exe, resolved.
Result<std::filesystem::path> own_executable();

}  // namespace assay::controller
