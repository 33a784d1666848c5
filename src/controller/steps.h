#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "base/result.h"
#include "controller/phase.h"
#include "controller/session.h"
#include "dataset/dataset.h"
#include "host/manifest.h"
#include "workload/compile_result.h"
#include "workload/interact_profile.h"

namespace assay::controller {

// The steps before a model runs. Each is one phase in one worker; a step that fails says so in its
// record and takes nothing else with it.

struct ProbeFacts {
  std::string version;            // of the runtime, as the backend says
  std::string interface_version;  // of the boundary
  std::string hardware_type;
  std::string runtime_libraries;  // hash over every shared library that the worker had loaded
  bool need_reload = false;
  bool need_quant = false;
  JsonValue probe;  // devices, driver and SDK versions; null when the backend has no probe
  std::vector<std::string> devices;
};
// `open_error` is set when the backend's library itself cannot be used (missing, another version,
// exports nothing): that is bad input, not a failed phase.
PhaseResult<ProbeFacts> probe_backend(const SessionSettings& settings,
                                      const host::Manifest& manifest, Status& open_error);

// The backend's questions as JSON text; "" for none.
PhaseResult<std::string> ask_profile(const SessionSettings& settings,
                                     const host::Manifest& manifest, const std::string& configs);

// What was asked for, or, when the backend said nothing, the profile that its manifest names; no
// questions without either.
Result<workload::InteractProfile> read_profile(const std::string& asked,
                                               const host::Manifest& manifest);

struct PreOptimized {
  std::optional<std::string> configs;  // the whole new configs, when the backend changed something
};
PhaseResult<PreOptimized> pre_optimize(const SessionSettings& settings,
                                       const host::Manifest& manifest, const std::string& configs,
                                       const std::filesystem::path& folder);

// The same inside a session that goes on. `folder` is made anew, empty.
Result<PreOptimized> pre_optimize_in_session(Session& session, const std::string& configs,
                                             const std::filesystem::path& folder);

struct ArtifactFile {
  std::string path;  // relative to the artifact folder
  std::uint64_t size_bytes = 0;
  std::string sha256;
};

struct Compiled {
  std::string compile_result;  // as the backend wrote it
  workload::CompileResult parsed;
  std::filesystem::path artifact_folder;
  std::optional<std::vector<std::int64_t>> best_batch_sizes;
  std::int64_t wall_ns = 0;               // of compile itself, in the worker
  std::uint64_t calibration_samples = 0;  // that the backend read
  std::vector<ArtifactFile> files;
  std::string artifact_hash;  // over all files

  // A Python object that only the process that made it has: it could not be written down.
  bool lives_in_process() const;
};

struct CompileRequest {
  std::string configs;
  std::filesystem::path artifact_folder;          // made anew, empty
  const dataset::Dataset* calibration = nullptr;  // samples to calibrate on; may be null
  bool calibration_disjoint = false;
};
PhaseResult<Compiled> compile_model(const SessionSettings& settings, const host::Manifest& manifest,
                                    const CompileRequest& request, RunObserver& observer);

// The same inside a session that goes on, as part of another phase. Ok when the backend says that
// it succeeded and what it says holds.
Status compile_in_session(Session& session, const host::Manifest& manifest,
                          const CompileRequest& request, RunObserver& observer, Compiled& compiled);

// What a backend declares that it computed in, from its compile result: "FP32", "INT8+FP32"; ""
// when it says nothing.
std::string declared_execution(const Json& compile_result);

// The `runtime` of a compile result, "" when it does not say.
std::string declared_runtime(const Json& compile_result);

// What declared_execution says, or else the precision that the backend says it compiled for.
std::string declared_precision(const workload::CompileResult& compiled);

// Files of an artifact folder, sorted, with their hashes; and the hash over them.
Result<std::vector<ArtifactFile>> list_artifact(const std::filesystem::path& folder);
std::string hash_of(const std::vector<ArtifactFile>& files);

// Runs `work` in a session for `phase`: times it, fills the record, ends the worker.
PhaseRecord run_in_session(const SessionSettings& settings, const host::Manifest& manifest,
                           const std::string& phase, const std::function<Status(Session&)>& work);

}  // namespace assay::controller
