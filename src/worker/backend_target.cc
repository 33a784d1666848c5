#include "worker/backend_target.h"

#include <optional>
#include <utility>

#include "base/clock.h"
#include "loadgen/random.h"

namespace assay::worker {
// One client's own things, on cache lines of its own.
struct alignas(128) BackendTarget::Client {
  Client(host::Runtime& runtime, const TargetSettings& settings, std::uint32_t index,
         std::size_t outputs)
      : sink(outputs),
        adapted(runtime, settings.adaptation),
        scratch_slot(index),
        first_kept_slot(settings.clients + index * settings.kept_per_client),
        random(settings.seed + index),
        kept(settings.kept_per_client) {}

  SlotSink sink;
  host::AdaptedRuntime adapted;
  std::size_t scratch_slot;
  std::size_t first_kept_slot;
  loadgen::Random random;
  std::uint64_t timed_calls = 0;  // that succeeded
  std::int64_t wait_ns = 0;
  std::vector<std::optional<KeptCall>> kept;  // by place; none: the place holds no whole output
};

BackendTarget::BackendTarget(host::Runtime& runtime, const ArenaLayout& layout,
                             std::span<std::byte> arena, loadgen::QueryOrder order,
                             const TargetSettings& settings)
    : runtime_(&runtime),
      order_(std::move(order)),
      converts_(settings.adaptation.converts()),
      one_call_(runtime.thread_rule() == host::ThreadRule::kOneCall && settings.clients > 1) {
  for (std::size_t slot = 0; slot < layout.input_slots; ++slot) {
    inputs_.push_back(slot_views(layout, arena, slot));
  }
  for (std::size_t slot = 0; slot < layout.output_slots; ++slot) {
    output_slots_.push_back(output_slot(layout, arena, slot));
  }
  for (std::uint32_t i = 0; i < settings.clients; ++i) {
    clients_.push_back(std::make_unique<Client>(runtime, settings, i, layout.outputs.size()));
    // A client whose first call is in the window allocates nothing there. What is wrong with the
    // inputs is the first call's to say.
    if (converts_ && !inputs_.empty()) (void)clients_.back()->adapted.prepare(inputs_.front()).ok();
  }
}

BackendTarget::~BackendTarget() = default;

Status BackendTarget::issue(std::uint32_t client_index, std::uint64_t query) {
  Client& client = *clients_[client_index];
  const std::size_t input_slot = order_.slot(query);
  const std::optional<std::size_t> place = choose_place(client, query);
  const std::size_t slot = place ? client.first_kept_slot + *place : client.scratch_slot;
  // From here on the slot no longer holds what it held, and not yet what this call gives.
  if (place) client.kept[*place].reset();
  client.sink.aim(output_slots_[slot]);
  Status status = infer(client, inputs_[input_slot]);
  if (!status.ok()) return status;
  if (query < loadgen::kUntimedQueryBase) ++client.timed_calls;
  if (place) client.kept[*place] = {query, input_slot, slot};
  return status;
}

Status BackendTarget::infer(Client& client, std::span<const TensorView> inputs) {
  if (!one_call_) return infer_now(client, inputs);
  const std::int64_t asked_ns = now_ns();
  const std::scoped_lock lock(instance_);
  client.wait_ns += now_ns() - asked_ns;
  return infer_now(client, inputs);
}

Status BackendTarget::infer_now(Client& client, std::span<const TensorView> inputs) {
  return converts_ ? client.adapted.infer(inputs, client.sink)
                   : runtime_->infer(inputs, client.sink);
}

// Reservoir sampling (Vitter's algorithm R): after n calls that succeeded each was kept with the
// same chance. One that fails in a place leaves the place empty.
std::optional<std::size_t> BackendTarget::choose_place(Client& client, std::uint64_t query) {
  if (query >= loadgen::kUntimedQueryBase || client.kept.empty()) return std::nullopt;
  const std::uint64_t nth = client.timed_calls;
  const std::uint64_t place = nth < client.kept.size() ? nth : client.random.below(nth + 1);
  if (place >= client.kept.size()) return std::nullopt;
  return static_cast<std::size_t>(place);
}

std::vector<KeptCall> BackendTarget::kept_calls() const {
  std::vector<KeptCall> calls;
  for (const auto& client : clients_) {
    for (const std::optional<KeptCall>& kept : client->kept) {
      if (kept) calls.push_back(*kept);
    }
  }
  return calls;
}

std::int64_t BackendTarget::instance_wait_ns() const {
  std::int64_t total = 0;
  for (const auto& client : clients_) total += client->wait_ns;
  return total;
}

host::ConversionCounts BackendTarget::conversions() const {
  host::ConversionCounts total;
  for (const auto& client : clients_) {
    const host::ConversionCounts& counts = client->adapted.counts();
    total.calls += counts.calls;
    total.tensors += counts.tensors;
    total.input_ns += counts.input_ns;
    total.output_ns += counts.output_ns;
  }
  return total;
}

std::vector<TensorView> slot_views(const ArenaLayout& layout, std::span<std::byte> arena,
                                   std::size_t slot) {
  std::vector<TensorView> views;
  views.reserve(layout.inputs.size());
  for (std::size_t k = 0; k < layout.inputs.size(); ++k) {
    views.push_back({layout.inputs[k], input_bytes(layout, arena, slot, k)});
  }
  return views;
}

}  // namespace assay::worker
