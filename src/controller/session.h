#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "controller/python_worker.h"
#include "controller/segments.h"
#include "host/backend.h"
#include "tensor/tensor.h"
#include "worker/client.h"
#include "worker/layout.h"
#include "worker/shared_memory.h"

namespace assay::controller {

class KeptWorker;

// How workers of a run are started and watched.
struct SessionSettings {
  std::filesystem::path worker_program;
  std::filesystem::path log_folder;
  const std::atomic<bool>* stop = nullptr;  // set when the user interrupts
  std::optional<std::chrono::milliseconds>
      timeout;  // of every call; none: each has its own default
  std::int64_t memory_limit_bytes = 0;
  std::int64_t cpu_limit_ns = 0;  // of a worker in one phase; 0: any
  // Where workers work and put their temporary files; who owns the settings removes it. Empty:
  // where we are.
  std::filesystem::path scratch;
  std::vector<std::string>* warnings = nullptr;  // of the run, which outlives all sessions; or null
  // The interpreter that is the worker of a backend in Python; none: there is no such backend.
  std::optional<PythonWorker> python;
  // What runs segments that fall back; none: nothing does.
  std::optional<FallbackBackend> fallback;
  // Where a backend that asks for one worker per run finds it; null: every session has its own.
  // Outlives all sessions.
  KeptWorker* kept = nullptr;
};

// A compiled model, wherever it will be loaded.
struct CompiledModel {
  std::string configs;         // JSON text as backends get it
  std::string compile_result;  // JSON text as the backend returned it
  std::filesystem::path artifact_folder;
};

// A model that a worker has loaded.
struct LoadedModel {
  std::int64_t batch_size = 1;        // loaded; may differ from
  std::int64_t asked_batch_size = 1;  // the one asked for
  std::int64_t load_ns = 0;
  bool any_number_of_calls = false;
  bool qs_mode_supported = false;
  bool has_benchmark = false;
  bool in_segments = false;         // that Assay runs one behind the other
  std::vector<TensorSpec> inputs;   // as the backend declares them; free dimensions are -1
  std::vector<TensorSpec> outputs;  // as the caller gets them; free dimensions are -1
  std::string conversions;          // JSON text: dtypes converted at the boundary
};

// A path as a worker, which works in a folder of its own, can use it.
std::string absolute_text(const std::filesystem::path& path);

// One worker with one backend opened in it. One thread at a time.
class Session {
 public:
  // A worker for `phase` (which names its log) with the backend opened: the one that was kept, or a
  // new one. When there is none `end` says how.
  static Result<Session> start(const SessionSettings& settings, const host::Manifest& manifest,
                               const std::string& phase, worker::PhaseEnd& end);
  Session(Session&&) = default;
  Session& operator=(Session&&) = delete;

  worker::Client& client() { return client_; }

  Result<Json> call(const std::string& op, Json arguments, std::chrono::seconds default_timeout,
                    int passed_fd = -1);
  // For calls that may take as long as they like, unless the user set a timeout.
  Result<Json> call_unbounded(const std::string& op, Json arguments, int passed_fd = -1);

  // `inputs`: the caller's tensors at the batch size asked for, -1 nowhere. `new_handle`: the one
  // that the process has is closed, and another one made.
  Result<LoadedModel> load(const CompiledModel& model, std::int64_t batch_size,
                           const std::vector<TensorSpec>& inputs, bool new_handle = false);

  // What the segments of the loaded model did since it was loaded; none of a model that is run
  // whole.
  Result<std::vector<SegmentUse>> segments_used();

  // What the backend says of its work so far by assay.facts/1, sentences; none when it says
  // nothing.
  Result<std::vector<std::string>> notes();

  // Makes an arena of this layout and gives it to the worker; the old one goes.
  Status share_arena(worker::ArenaLayout layout);
  const worker::ArenaLayout& layout() const { return layout_; }
  std::span<std::byte> arena() const { return arena_.bytes(); }

  worker::CallOptions options(std::optional<std::chrono::seconds> default_timeout) const;
  void set_tick(std::function<void()> tick) { tick_ = std::move(tick); }

  // Ends the worker, or keeps it when all went well and the run shares one; its outcome for a phase
  // that stopped with `status`.
  worker::PhaseEnd finish(const Status& status);
  // Of the worker in this phase: what it held at most, things of earlier phases that it still holds
  // among them. After finish().
  std::int64_t peak_rss_bytes() const { return peak_rss_bytes_; }

 private:
  Session(worker::Client client, std::optional<std::chrono::milliseconds> timeout, KeptWorker* kept)
      : client_(std::move(client)), timeout_(timeout), kept_(kept) {}

  void adopt(const SessionSettings& settings, const host::Manifest& manifest,
             const std::string& phase);
  void warn_of_log();
  static Result<Session> start_new(const SessionSettings& settings, const host::Manifest& manifest,
                                   const std::filesystem::path& log, worker::PhaseEnd& end);

  worker::Client client_;
  std::optional<std::chrono::milliseconds> timeout_;
  bool runs_segments_ = false;  // of this backend, instead of its own runtime
  std::optional<FallbackBackend> fallback_;
  std::vector<std::string>* warnings_ = nullptr;
  std::string log_name_;
  KeptWorker* kept_;  // where the worker goes when it lives on; null: nowhere
  std::int64_t peak_rss_bytes_ = 0;
  std::function<void()> tick_;
  worker::ArenaLayout layout_;
  worker::SharedMemory arena_;
};

}  // namespace assay::controller
