#include "worker/backend_target.h"

#include <utility>

#include "base/clock.h"
#include "loadgen/random.h"

namespace assay::worker {
// One client's own things, on cache lines of its own.
struct alignas(128) BackendTarget::Client {
  Client(host::RuntimeBackend& runtime, const TargetSettings& settings, std::uint32_t index,
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
  std::uint64_t timed_calls = 0;
  std::int64_t wait_ns = 0;
  std::vector<KeptCall> kept;
};

BackendTarget::BackendTarget(host::RuntimeBackend& runtime, const ArenaLayout& layout,
                             std::span<std::byte> arena, loadgen::QueryOrder order,
                             const TargetSettings& settings)
    : runtime_(&runtime),
      order_(std::move(order)),
      kept_per_client_(settings.kept_per_client),
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
  }
}

BackendTarget::~BackendTarget() = default;

Status BackendTarget::issue(std::uint32_t client_index, std::uint64_t query) {
  Client& client = *clients_[client_index];
  const std::size_t input_slot = order_.slot(query);
  client.sink.aim(output_slots_[choose_output_slot(client, query, input_slot)]);
  if (!one_call_) return infer(client, inputs_[input_slot]);
  const std::int64_t asked_ns = now_ns();
  const std::scoped_lock lock(instance_);
  client.wait_ns += now_ns() - asked_ns;
  return infer(client, inputs_[input_slot]);
}

Status BackendTarget::infer(Client& client, std::span<const TensorView> inputs) {
  return converts_ ? client.adapted.infer(inputs, client.sink)
                   : runtime_->infer(inputs, client.sink);
}

// Reservoir sampling (Vitter's algorithm R): after n calls each was kept with the same chance.
std::size_t BackendTarget::choose_output_slot(Client& client, std::uint64_t query,
                                              std::size_t input_slot) {
  if (query >= loadgen::kUntimedQueryBase || kept_per_client_ == 0) return client.scratch_slot;
  const std::uint64_t nth = client.timed_calls++;
  const std::uint64_t place = nth < kept_per_client_ ? nth : client.random.below(nth + 1);
  if (place >= kept_per_client_) return client.scratch_slot;
  const std::size_t slot = client.first_kept_slot + static_cast<std::size_t>(place);
  client.kept[static_cast<std::size_t>(place)] = {query, input_slot, slot};
  return slot;
}

std::vector<KeptCall> BackendTarget::kept_calls() const {
  std::vector<KeptCall> calls;
  for (const auto& client : clients_) {
    const std::uint64_t count = std::min<std::uint64_t>(client->timed_calls, kept_per_client_);
    calls.insert(calls.end(), client->kept.begin(),
                 client->kept.begin() + static_cast<std::ptrdiff_t>(count));
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
