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
#include "host/backend.h"
#include "tensor/tensor.h"
#include "worker/client.h"
#include "worker/layout.h"
#include "worker/shared_memory.h"

namespace assay::controller {

// How workers of a run are started and watched.
struct SessionSettings {
  std::filesystem::path worker_program;
  std::filesystem::path log_folder;
  const std::atomic<bool>* stop = nullptr;  // set when the user interrupts
  std::optional<std::chrono::milliseconds>
      timeout;  // of every call; none: each has its own default
  std::int64_t memory_limit_bytes = 0;
};

// A compiled model, wherever it will be loaded.
struct CompiledModel {
  std::string configs;         // JSON text as backends get it
  std::string compile_result;  // JSON text as the backend returned it
  std::filesystem::path artifact_folder;
};

// A model that a worker has loaded.
struct LoadedModel {
  std::int64_t batch_size = 1;  // loaded; may differ from the one asked for
  std::int64_t load_ns = 0;
  bool any_number_of_calls = false;
  bool qs_mode_supported = false;
  std::vector<TensorSpec> inputs;   // as the backend declares them; free dimensions are -1
  std::vector<TensorSpec> outputs;  // as the caller gets them; free dimensions are -1
  std::string conversions;          // JSON text: dtypes converted at the boundary
};

// One worker with one backend opened in it. One thread at a time.
class Session {
 public:
  // Starts a worker for `phase` (which names its log) and opens the backend. When that fails `end`
  // says how.
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

  // Makes an arena of this layout and gives it to the worker; the old one goes.
  Status share_arena(worker::ArenaLayout layout);
  const worker::ArenaLayout& layout() const { return layout_; }
  std::span<std::byte> arena() const { return arena_.bytes(); }

  worker::CallOptions options(std::optional<std::chrono::seconds> default_timeout) const;
  void set_tick(std::function<void()> tick) { tick_ = std::move(tick); }

  // Ends the worker; its outcome for a phase that stopped with `status`.
  worker::PhaseEnd finish(const Status& status);
  std::int64_t peak_rss_bytes() const { return client_.peak_rss_bytes(); }

 private:
  Session(worker::Client client, std::optional<std::chrono::milliseconds> timeout)
      : client_(std::move(client)), timeout_(timeout) {}

  worker::Client client_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::function<void()> tick_;
  worker::ArenaLayout layout_;
  worker::SharedMemory arena_;
};

}  // namespace assay::controller
