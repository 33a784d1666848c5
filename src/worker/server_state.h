#pragma once

// The worker's operations, by name. Internal to worker: server.cc has the loop and what opens a
// backend, server_compile.cc what makes artifacts, server_runtime.cc what runs them,
// server_segments.cc what loads them in segments.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "host/backend.h"
#include "loadgen/closed_loop.h"
#include "worker/channel.h"
#include "worker/layout.h"
#include "worker/shared_memory.h"

namespace assay::worker {

// A member of `json` by type, or the error that says what is missing. For bool, std::string, Json,
// std::int64_t, std::uint32_t, std::uint64_t and a list of std::string.
template <typename T>
Result<T> member(const Json& json, const char* key);

// Where backends' log lines go, for as long as the process lives.
host::LogSink* backend_log();

class Server {
 public:
  explicit Server(Channel channel) : channel_(std::move(channel)) {}

  int run();

  // Sends an event; with `wants_reply` waits for the controller's answer.
  Result<Json> event(Json body, bool wants_reply);

 private:
  using Handler = Result<Json> (Server::*)(const Json& request, int fd);
  static const std::map<std::string, Handler>& handlers();

  Result<Json> dispatch(const Message& message);
  Result<Json> hello(const Json& request, int fd);
  Result<Json> log_to(const Json& request, int fd);
  Result<Json> open(const Json& request, int fd);
  Result<Json> probe(const Json& request, int fd);
  Result<Json> interact_profile(const Json& request, int fd);
  Result<Json> pre_optimize(const Json& request, int fd);
  Result<Json> best_batch_size(const Json& request, int fd);
  Result<Json> compile(const Json& request, int fd);
  Result<Json> load(const Json& request, int fd);
  Result<Json> arena(const Json& request, int fd);
  Result<Json> record(const Json& request, int fd);
  Result<Json> infer(const Json& request, int fd);
  Result<Json> measure(const Json& request, int fd);
  Result<Json> exercise(const Json& request, int fd);
  Result<Json> harness(const Json& request, int fd);
  Result<Json> benchmark(const Json& request, int fd);
  Result<Json> facts(const Json& request, int fd);
  Result<Json> segments(const Json& request, int fd);
  Result<Json> drill(const Json& request, int fd);
  Result<Json> close(const Json& request, int fd);

  // The samples that a request describes and `fd` carries; none without one.
  Result<std::unique_ptr<host::CalibrationData>> samples(const Json& request, int fd);
  // Tells the controller which of the backend's methods runs now, for an operation that calls
  // several: a worker that is lost cannot say so any more.
  void calling(const char* method);
  // What the backend says of itself by assay.facts/1; an empty object when it says nothing.
  Result<Json> backend_facts();
  Result<host::CompileBackend*> compiler();
  Result<host::RuntimeBackend*> runtime();
  // What is loaded goes, or closes, first. Afterwards `loaded_` is the model.
  Status load_whole(const host::LoadRequest& job);
  Status load_segments(const Json& segments, const host::LoadRequest& job);
  Result<host::StageRequest> stage(const Json& segment, const host::LoadRequest& job);
  Result<std::string> compile_fallback(const host::Library& library, const Json& segment,
                                       const std::filesystem::path& folder);
  Status close_pipeline();
  Status close_handles();
  Status plan_adaptation(const Json& request, host::AdaptPolicy policy);
  Result<loadgen::ClosedLoopSettings> loop_settings(const Json& request) const;

  Channel channel_;
  std::mutex sending_;
  bool leaving_ = false;
  std::optional<host::Library> library_;
  std::optional<host::CompileBackend> compiler_;
  std::optional<host::RuntimeBackend> runtime_;
  std::unique_ptr<host::Pipeline> pipeline_;  // of a model in segments, whose runtimes it has
  host::Runtime* loaded_ = nullptr;           // one of the two, once it is loaded
  std::optional<host::Library> fallback_;     // what runs fallback segments
  std::int64_t load_start_ns_ = 0;
  host::Adaptation adaptation_;
  std::unique_ptr<host::AdaptedRuntime> adapted_;
  std::optional<ArenaLayout> layout_;
  SharedMemory arena_;
  SharedMemory record_;
  std::uint64_t chunk_ = 0;  // of the last window that warmed up; 0: none was measured yet
};

}  // namespace assay::worker
