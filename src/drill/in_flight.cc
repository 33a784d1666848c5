#include "drill/in_flight.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "drill/answers.h"

namespace assay::drill {
namespace {

constexpr std::uint64_t kFirstTicket = 1000;  // no place in a table, no small count

assay_tensor lent(const Tensor& tensor) {
  assay_tensor borrowed{};
  borrowed.name = tensor.spec().name.c_str();
  borrowed.dtype = static_cast<std::uint32_t>(tensor.spec().dtype);
  borrowed.rank = static_cast<std::uint32_t>(tensor.spec().shape.size());
  borrowed.shape = tensor.spec().shape.data();
  borrowed.size_bytes = tensor.bytes().size();
  borrowed.data = const_cast<std::byte*>(tensor.bytes().data());
  borrowed.memory_kind = ASSAY_MEMORY_HOST;
  borrowed.device_id = -1;
  return borrowed;
}

std::string code_name(std::int32_t code) { return status_code_name(static_cast<StatusCode>(code)); }

}  // namespace

CallsInFlight::CallsInFlight(host::RuntimeBackend& runtime, const std::vector<Case>& cases)
    : runtime_(&runtime), cases_(&cases), maker_(std::this_thread::get_id()) {}

Result<CallsInFlight::Call*> CallsInFlight::prepare(std::size_t number) {
  const Case& right = (*cases_)[number % cases_->size()];
  ASSIGN_OR_RETURN(std::vector<Tensor> inputs, copies_of(right.inputs));
  const std::lock_guard lock(mutex_);
  Call& call = calls_.emplace_back();
  call.owner = this;
  call.ticket = kFirstTicket + calls_.size();
  call.right = &right;
  call.inputs = std::move(inputs);
  call.given.resize(runtime_->signature().outputs.size());
  for (const Tensor& output : right.outputs) {
    ASSIGN_OR_RETURN(Tensor room, Tensor::make(output.spec()));
    std::ranges::fill(room.bytes(), std::byte{kPoison});
    call.outputs.push_back(std::move(room));
  }
  call.sink = {sizeof call.sink, 0, &call, &CallsInFlight::alloc_output};
  return &call;
}

std::int32_t CallsInFlight::submit(std::size_t number) {
  const Result<Call*> prepared = prepare(number);
  if (!prepared.ok()) return static_cast<std::int32_t>(prepared.status().code());
  Call& call = **prepared;
  std::vector<assay_tensor> inputs;
  inputs.reserve(call.inputs.size());
  for (const Tensor& input : call.inputs) inputs.push_back(lent(input));
  const assay_submit_request request{
      sizeof request, 0,           inputs.data(), inputs.size(),
      &call.sink,     call.ticket, this,          &CallsInFlight::complete};
  std::array<char, 512> message{};
  assay_error error{0, 0, message.data(), message.size(), 0};
  {
    // Before the backend has it: a completion may come inside submit.
    const std::lock_guard lock(mutex_);
    call.accepted = true;
    ++accepted_;
  }
  const std::int32_t code =
      runtime_->library().plugin().runtime->submit(runtime_->handle(), &request, &error);
  if (code == ASSAY_OK) return code;
  const std::lock_guard lock(mutex_);
  call.accepted = false;
  --accepted_;
  changed_.notify_all();
  return code;
}

std::int32_t CallsInFlight::cancel(std::uint64_t ticket) {
  std::array<char, 512> message{};
  assay_error error{0, 0, message.data(), message.size(), 0};
  return runtime_->library().plugin().runtime->cancel(runtime_->handle(), ticket, &error);
}

Status CallsInFlight::give(Call& call, std::uint32_t index, assay_tensor& output) {
  if (index >= call.outputs.size()) return internal_error(fmt::format("no output {}", index));
  if (call.given[index]) return internal_error(fmt::format("output {} was asked for twice", index));
  Tensor& room = call.outputs[index];
  if (output.size_bytes != room.bytes().size()) {
    return internal_error(fmt::format("output {}: asked for {} bytes, wanted {}", index,
                                      output.size_bytes, room.bytes().size()));
  }
  call.given[index] = true;
  output.data = room.bytes().data();
  return ok_status();
}

std::int32_t CallsInFlight::alloc_output(void* context, std::uint32_t index, assay_tensor* output,
                                         assay_error* error) {
  auto& call = *static_cast<Call*>(context);
  output->data = nullptr;
  const Status status = call.owner->give(call, index, *output);
  if (status.ok()) return ASSAY_OK;
  call.owner->note(status.message());
  return assay_set_error(error, ASSAY_INTERNAL, status.message().c_str());
}

void CallsInFlight::judge(Call& call, std::int32_t code, const char* message) {
  call.code = code;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!std::ranges::equal(call.inputs[i].bytes(), call.right->inputs[i].bytes())) {
      note(fmt::format("the input of call {} was changed before its completion", call.ticket));
    }
    // What still reads the input now reads something else.
    std::ranges::fill(call.inputs[i].bytes(), std::byte{kPoison});
  }
  if (code == ASSAY_CANCELLED) return;
  if (code != ASSAY_OK) {
    note(fmt::format("call {} completed with {}: {}", call.ticket, code_name(code),
                     message == nullptr ? "" : message));
    return;
  }
  const bool all_given = std::ranges::all_of(call.given, [](bool given) { return given; });
  if (!all_given) note(fmt::format("call {} completed without all outputs", call.ticket));
  const std::string found = difference(call.outputs, call.right->outputs);
  if (all_given && !found.empty()) note(fmt::format("at completion of {}: {}", call.ticket, found));
}

void CallsInFlight::complete(void* context, std::uint64_t ticket, std::int32_t code,
                             const char* message) {
  auto& self = *static_cast<CallsInFlight*>(context);
  Call* call = nullptr;
  bool again = false;
  {
    const std::lock_guard lock(self.mutex_);
    const auto found = std::ranges::find(self.calls_, ticket, &Call::ticket);
    if (found != self.calls_.end()) {
      call = &*found;
      again = ++call->completions > 1;
      if (!again) ++self.reported_;
    }
  }
  if (call == nullptr) {
    self.note(fmt::format("the end of call {} was reported, and there is no such call", ticket));
    return;
  }
  if (again) {
    self.note(fmt::format("the end of call {} was reported twice", ticket));
    return;
  }
  self.judge(*call, code, message);
  self.wait_while_held();
  if (self.on_complete_) self.on_complete_();
  const std::lock_guard lock(self.mutex_);
  ++self.completed_;
  self.changed_.notify_all();
}

void CallsInFlight::wait_while_held() {
  if (std::this_thread::get_id() == maker_) return;
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kPatience, [&] { return !held_; })) return;
  held_ = false;
  if (violation_.empty()) {
    violation_ = fmt::format(
        "nothing moved for {} s while a completion was being reported: submit "
        "or cancel waits for the device",
        kPatience.count());
  }
}

void CallsInFlight::hold(bool on) {
  const std::lock_guard lock(mutex_);
  held_ = on;
  changed_.notify_all();
}

void CallsInFlight::set_on_complete(std::function<void()> on_complete) {
  on_complete_ = std::move(on_complete);
}

std::size_t CallsInFlight::accepted() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

std::size_t CallsInFlight::reported() const {
  const std::lock_guard lock(mutex_);
  return reported_;
}

std::uint64_t CallsInFlight::last_ticket() const {
  const std::lock_guard lock(mutex_);
  return calls_.empty() ? 0 : calls_.back().ticket;
}

std::int32_t CallsInFlight::code_of(std::uint64_t ticket) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(calls_, ticket, &Call::ticket);
  return found == calls_.end() ? ASSAY_UNKNOWN : found->code;
}

void CallsInFlight::wait_for_all() {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kPatience, [&] { return completed_ >= accepted_; })) return;
  if (violation_.empty()) {
    violation_ = fmt::format("{} of {} submitted calls did not complete within {} s",
                             accepted_ - completed_, accepted_, kPatience.count());
  }
}

void CallsInFlight::settle() {
  const std::lock_guard lock(mutex_);
  for (const Call& call : calls_) {
    if (call.completions == (call.accepted ? 1 : 0) || !violation_.empty()) continue;
    violation_ =
        call.accepted
            ? fmt::format("call {} was never completed, and the handle is closed", call.ticket)
            : fmt::format("call {} was refused and completed too", call.ticket);
  }
}

void CallsInFlight::note(std::string violation) {
  const std::lock_guard lock(mutex_);
  if (violation_.empty()) violation_ = std::move(violation);
}

std::string CallsInFlight::violation() const {
  const std::lock_guard lock(mutex_);
  return violation_;
}

}  // namespace assay::drill
