#pragma once

// Internal to the room: submitted calls until their completion.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "host/call.h"

namespace assay::host {

// A fixed table of calls on their way. A ticket names a place in the table and a generation, so a
// completion that comes twice, or of no call of ours, is recognised whatever number it carries.
// Thread-safe; the address stays.
class InFlight {
 public:
  // `capacity` at least 1.
  InFlight(const CallContext& context, std::uint32_t capacity);

  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t in_progress() const { return in_progress_.load(std::memory_order_acquire); }

  // Starts a call on `runtime` by `table.submit`. As RuntimeBackend::submit.
  Result<std::uint64_t> submit(const assay_runtime_table& table, assay_runtime* runtime,
                               std::span<const assay_tensor> inputs, OutputSink& outputs,
                               CompletionSink& completion);

  // After close: completes what the backend forgot, with kInternal. Returns how many.
  std::uint32_t abandon();

  // The first violation of "exactly once", if any.
  Status violation() const;

 private:
  struct Place {
    std::atomic<bool> taken = false;
    std::atomic<std::uint64_t> ticket = 0;  // 0: no completion is owed
    std::optional<OutputCall> call;
    CompletionSink* completion = nullptr;
  };
  static constexpr unsigned kIndexBits = 16;

  static void complete(void* self, std::uint64_t ticket, std::int32_t code, const char* message);
  Place* take_place(std::uint64_t& ticket);
  Place* claim(std::uint64_t ticket);
  void release(Place& place);
  void note(std::string violation);

  CallContext context_;
  std::uint32_t capacity_;
  std::unique_ptr<Place[]> places_;
  std::atomic<std::uint64_t> generation_ = 0;
  std::atomic<std::uint32_t> in_progress_ = 0;
  mutable std::mutex mutex_;
  Status violation_;  // guarded by mutex_
};

}  // namespace assay::host
