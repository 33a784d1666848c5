#pragma once

// What is known about a backend before anything of it is loaded: its folder and its manifest.json
// (schemas/manifest.schema.json, docs/reference/boundary.md).

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::host {

// How long one worker process lives.
enum class WorkerPolicy { kPerPhase, kPerRow, kPerRun };

struct Manifest {
  std::filesystem::path folder;  // absolute; holds manifest.json
  std::string hardware_type;     // equal to the folder's name
  std::string library;           // file name, relative to the folder
  std::uint32_t interface_major = 0;
  std::string description;
  std::map<std::string, std::string> environment;  // set in the worker before exec
  bool exclusive_device = false;                   // one process at a time may use the device
  std::int64_t startup_cost_ms = 0;                // of a worker, roughly
  std::optional<std::int64_t> licence_seats;       // workers that may run at once
  WorkerPolicy worker_policy = WorkerPolicy::kPerPhase;
  std::string profile;    // file name of the interact profile; "" for none
  bool internal = false;  // Assay's own, for tests and for measuring itself: not listed to users

  std::filesystem::path library_path() const { return folder / library; }
  std::filesystem::path profile_path() const { return folder / profile; }
};

// Reads and checks `folder`/manifest.json. kNotFound when there is none; kInvalidArgument with
// every problem of the file, a hardware_type other than the folder's name among them. Does not look
// for the library: a backend that is listed may not be built.
Result<Manifest> read_manifest(const std::filesystem::path& folder);

struct FoundBackend {
  std::string hardware_type;  // the folder's name
  Result<Manifest> manifest;
};

// Every sub-folder with a manifest.json of each search path, by hardware type; of two with one name
// the one of the earlier path. Search paths that do not exist are skipped. Loads nothing.
std::vector<FoundBackend> find_backends(const std::vector<std::filesystem::path>& search_paths);

// The backend of exactly that name. kNotFound with the names there are, or with where was looked
// when there is none at all; or what read_manifest has against it.
Result<Manifest> find_backend(std::string_view hardware_type,
                              const std::vector<std::filesystem::path>& search_paths);

// Where backends lie for a program in `program_folder`: the folders of ASSAY_BACKENDS (separated by
// colons), then ../backends (build tree), then ../lib/assay/backends (install tree).
std::vector<std::filesystem::path> backend_search_paths(
    const std::filesystem::path& program_folder);

}  // namespace assay::host
