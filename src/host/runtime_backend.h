#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/compile_backend.h"
#include "host/library.h"
#include "host/runtime.h"
#include "tensor/tensor.h"

namespace assay::host {

struct Device {
  std::int32_t id = 0;
  std::string name;
  std::string serial;              // "": unknown
  std::int32_t numa_node = -1;     // -1: unknown
  std::uint64_t memory_bytes = 0;  // 0: unknown
};

struct ProbeResult {
  bool available = false;
  std::string reason;  // why not
  std::string driver_version;
  std::string sdk_version;
  std::vector<Device> devices;
};

struct LoadRequest {
  std::string configs;                    // JSON text, as compile got it
  std::string compile_result;             // JSON text, as compile returned it; "" for none
  std::filesystem::path artifact_folder;  // where the artifact lies now
  std::int64_t batch_size = 1;
  std::vector<std::int32_t> device_ids;  // empty: the backend's default
  std::vector<std::int32_t> cpu_set;     // CPUs this process may use
  std::int32_t numa_node = -1;           // -1: any
  // Told the name of each method of the backend just before it is called. May be empty.
  std::function<void(const char* method)> calling;
};

// Told the end of one submitted call, exactly once, on any thread, possibly inside submit.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  virtual void complete(std::uint64_t ticket, Status status) = 0;
};

// What the library says about this machine; loads no model and acquires no device. None when the
// backend has no probe. Call it in a process of its own: a driver may do anything.
Result<std::optional<ProbeResult>> probe(const Library& library);

// A backend's runtime with at most one model loaded. Every tensor is held against the signature on
// both sides of every call; a violation is kInvalidArgument when it is the caller's and kInternal
// when it is the backend's, and names both sides.
//
// Thread rule: infer as thread_rule() says, submit and cancel from any number of threads once
// loaded; everything else one call at a time and never beside an infer.
class RuntimeBackend final : public Runtime {
 public:
  static Result<RuntimeBackend> create(const Library& library);

  RuntimeBackend(RuntimeBackend&&) noexcept;
  RuntimeBackend& operator=(RuntimeBackend&&) noexcept;
  ~RuntimeBackend() override;  // closes when close() was not called; its failure is then lost

  Result<std::string> version();

  // May be called again; after a failure nothing is loaded.
  Status load(const LoadRequest& request);

  // The following need a successful load.
  std::int64_t loaded_batch_size() const override;
  const Signature& signature() const override;
  ThreadRule thread_rule() const override;
  bool is_qs_mode_supported() const;
  bool has_benchmark() const;

  // On success it neither allocates (up to 16 inputs and 16 outputs), locks nor calls the system.
  Status infer(std::span<const TensorView> inputs, OutputSink& outputs) override;

  // Asynchronous calls; 0 in flight and kUnimplemented when the backend has none.
  std::uint32_t max_in_flight() const;
  bool can_cancel() const;

  // Starts a call. On success: a ticket, and `completion` is told exactly once; the bytes of the
  // inputs, `outputs` and `completion` stay until then. kResourceExhausted when max_in_flight()
  // calls are on their way: nothing was started.
  Result<std::uint64_t> submit(std::span<const TensorView> inputs, OutputSink& outputs,
                               CompletionSink& completion);

  // Asks for a call to end early; it still completes. kNotFound when it is not on its way.
  Status cancel(std::uint64_t ticket);

  // kInternal, once and for all, when the backend reported an end twice or of no call of ours.
  Status completions_in_order() const;

  // After a failed call. kUnimplemented when the backend cannot.
  Status recover();

  // JSON text. kUnimplemented when the backend has none.
  Result<std::string> generate_qs_config();
  Result<std::string> benchmark(CalibrationData& data);

  // JSON text by assay.facts/1, not while infer runs; none when the backend offers none.
  Result<std::optional<std::string>> facts();

  // Ends gracefully; every submitted call has completed when it returns. Only destruction follows.
  Status close();

  // For functions of extensions (assay/extensions.h).
  assay_runtime* handle();
  const Library& library() const;

 private:
  struct State;
  explicit RuntimeBackend(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace assay::host
