#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "host/backend.h"
#include "loadgen/query_order.h"
#include "loadgen/target.h"
#include "worker/output_slots.h"

namespace assay::worker {

// A call whose outputs were kept for checking after the window.
struct KeptCall {
  std::uint64_t query = 0;
  std::size_t input_slot = 0;
  std::size_t output_slot = 0;
};

struct TargetSettings {
  std::uint32_t clients = 1;
  std::size_t kept_per_client = 0;
  std::uint64_t seed = 1;
  host::Adaptation adaptation;
};

// The load generator's view of a loaded backend: a query is one batch from an input slot. Output
// slots: first one per client for outputs that nobody looks at, then kept_per_client for each
// client in turn, which hold a seeded reservoir sample of the window's outputs; the backend writes
// into them directly, so keeping costs nothing in the loop. A call that fails is never kept.
class BackendTarget : public loadgen::Target {
 public:
  // `runtime` is loaded; both memories outlive the target.
  BackendTarget(host::Runtime& runtime, const ArenaLayout& layout, std::span<std::byte> arena,
                loadgen::QueryOrder order, const TargetSettings& settings);
  ~BackendTarget() override;

  Status issue(std::uint32_t client, std::uint64_t query) override;

  std::vector<KeptCall> kept_calls() const;
  // Time that clients waited for the instance, when calls may not overlap; a part of their latency.
  std::int64_t instance_wait_ns() const;
  // What dtype conversion at the boundary cost, over all calls.
  host::ConversionCounts conversions() const;

 private:
  struct Client;
  Status infer(Client& client, std::span<const TensorView> inputs);
  Status infer_now(Client& client, std::span<const TensorView> inputs);
  static std::optional<std::size_t> choose_place(Client& client, std::uint64_t query);

  host::Runtime* runtime_;
  loadgen::QueryOrder order_;
  bool converts_;
  bool one_call_;  // the backend allows one call at a time
  std::mutex instance_;
  std::vector<std::vector<TensorView>> inputs_;     // by input slot
  std::vector<std::span<std::byte>> output_slots_;  // where they begin is not a loop's business
  std::vector<std::unique_ptr<Client>> clients_;
};

// The inputs of one slot, as infer takes them.
std::vector<TensorView> slot_views(const ArenaLayout& layout, std::span<std::byte> arena,
                                   std::size_t slot);

}  // namespace assay::worker
