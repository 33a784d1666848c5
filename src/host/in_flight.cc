#include "host/in_flight.h"

#include <fmt/format.h>

#include <utility>

#include "host/boundary.h"

namespace assay::host {

InFlight::InFlight(const CallContext& context, std::uint32_t capacity)
    : context_(context), capacity_(capacity), places_(std::make_unique<Place[]>(capacity)) {}

InFlight::Place* InFlight::take_place(std::uint64_t& ticket) {
  for (std::uint32_t index = 0; index < capacity_; ++index) {
    if (places_[index].taken.exchange(true, std::memory_order_acquire)) continue;
    const std::uint64_t generation = generation_.fetch_add(1, std::memory_order_relaxed) + 1;
    ticket = generation << kIndexBits | index;
    in_progress_.fetch_add(1, std::memory_order_relaxed);
    return &places_[index];
  }
  return nullptr;
}

// The place whose completion `ticket` is, for the one caller that asks first; else null.
InFlight::Place* InFlight::claim(std::uint64_t ticket) {
  const std::uint64_t index = ticket & ((1U << kIndexBits) - 1);
  if (ticket == 0 || index >= capacity_) return nullptr;
  std::uint64_t expected = ticket;
  const bool owed =
      places_[index].ticket.compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
  return owed ? &places_[index] : nullptr;
}

void InFlight::release(Place& place) {
  place.call.reset();
  in_progress_.fetch_sub(1, std::memory_order_release);
  place.taken.store(false, std::memory_order_release);
}

void InFlight::note(std::string violation) {
  const std::lock_guard lock(mutex_);
  if (violation_.ok()) {
    violation_ = internal_error(fmt::format("{}: {}", context_.backend, violation));
  }
}

Status InFlight::violation() const {
  const std::lock_guard lock(mutex_);
  return violation_;
}

Result<std::uint64_t> InFlight::submit(const assay_runtime_table& table, assay_runtime* runtime,
                                       std::span<const assay_tensor> inputs, OutputSink& outputs,
                                       CompletionSink& completion) {
  std::uint64_t ticket = 0;
  Place* const place = take_place(ticket);
  if (place == nullptr) {
    return resource_exhausted(
        fmt::format("{}: submit: all {} places are taken", context_.backend, capacity_));
  }
  place->call.emplace(context_, outputs);
  place->completion = &completion;
  const assay_submit_request request{
      sizeof request,      0,      inputs.data(), inputs.size(),
      place->call->sink(), ticket, this,          &InFlight::complete};
  place->ticket.store(ticket, std::memory_order_release);
  CallError error;
  const std::int32_t code = table.submit(runtime, &request, error.get());
  if (code == ASSAY_OK) return ticket;
  if (claim(ticket) == nullptr) {
    note("submit completed a call and refused it too");
    return ticket;
  }
  Status status = place->call->finish(code, error.get()->message, "submit");
  release(*place);
  return status;
}

void InFlight::complete(void* self, std::uint64_t ticket, std::int32_t code, const char* message) {
  auto& in_flight = *static_cast<InFlight*>(self);
  Place* const place = in_flight.claim(ticket);
  if (place == nullptr) {
    in_flight.note(fmt::format("reported the end of call {}, which is not on its way", ticket));
    return;
  }
  Status status = place->call->finish(code, message, "submitted call");
  CompletionSink* const completion = place->completion;
  // The place is free before the caller hears of it, so that it can submit from inside.
  in_flight.release(*place);
  completion->complete(ticket, std::move(status));
}

std::uint32_t InFlight::abandon() {
  std::uint32_t count = 0;
  for (std::uint32_t index = 0; index < capacity_; ++index) {
    const std::uint64_t ticket = places_[index].ticket.load(std::memory_order_acquire);
    Place* const place = claim(ticket);
    if (place == nullptr) continue;
    CompletionSink* const completion = place->completion;
    release(*place);
    ++count;
    completion->complete(ticket, internal_error(fmt::format(
                                     "{}: closed without completing the call", context_.backend)));
  }
  return count;
}

}  // namespace assay::host
