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

// What a backend is written in.
enum class Language { kCpp, kPython };
std::string_view name_of(Language language);  // "cpp", "python"

struct Manifest {
  std::filesystem::path folder;  // absolute
  std::string hardware_type;     // equal to the folder's name
  Language language = Language::kCpp;
  std::string library;  // file name, relative to the folder; "" for Python
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

// Reads and checks `folder`/manifest.json. A folder without one that holds compile_backend_<hw>.py,
// <hw> being its name in lower case, is a published Python backend and has the manifest of those: a
// worker per run, and its profile. kNotFound when it is neither; kInvalidArgument with every
// problem of the file, a hardware_type other than the folder's name among them. Does not look for
// the library: a backend that is listed may not be built.
Result<Manifest> read_manifest(const std::filesystem::path& folder);

struct FoundBackend {
  std::string hardware_type;  // the folder's name
  Result<Manifest> manifest;
};

// Every sub-folder of each search path that read_manifest finds a backend in, by hardware type; of
// two with one name the earlier path's. Loads nothing. Paths that do not exist are skipped.
std::vector<FoundBackend> find_backends(const std::vector<std::filesystem::path>& search_paths);

// The backend of exactly that name. kNotFound with the names there are, or with where was looked
// when there is none at all; or what read_manifest has against it.
Result<Manifest> find_backend(std::string_view hardware_type,
                              const std::vector<std::filesystem::path>& search_paths);

// Where `named` finds backends: the folder that holds them, or its parent when `named` is itself
// one. kNotFound when it is neither, naming what would be one.
Result<std::filesystem::path> search_path_of(const std::filesystem::path& named);

// Where backends lie for a program in `program_folder`: the folders of ASSAY_BACKENDS (separated by
// colons), then ../backends (build tree), then ../lib/assay/backends (install tree).
std::vector<std::filesystem::path> backend_search_paths(
    const std::filesystem::path& program_folder);

}  // namespace assay::host
