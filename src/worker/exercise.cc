#include "worker/exercise.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "loadgen/query_order.h"
#include "loadgen/random.h"
#include "worker/backend_target.h"
#include "worker/output_slots.h"

namespace assay::worker {
namespace {

// One caller: its own copy of the inputs, its own room for outputs.
class Caller {
 public:
  static Result<std::unique_ptr<Caller>> create(host::Runtime& runtime,
                                                const host::Adaptation& adaptation,
                                                const ArenaLayout& layout, std::uint64_t seed) {
    std::unique_ptr<Caller> caller(new Caller(runtime, adaptation, layout, seed));
    for (const TensorSpec& spec : layout.inputs) {
      ASSIGN_OR_RETURN(Tensor tensor, Tensor::make(spec));
      caller->staged_.push_back(std::move(tensor));
    }
    for (const Tensor& tensor : caller->staged_) caller->views_.push_back(tensor.view());
    return caller;
  }

  // Feeds a copy of `inputs`; the outputs go to `slot`.
  Status call(std::span<const TensorView> inputs, std::span<std::byte> slot) {
    for (std::size_t k = 0; k < staged_.size(); ++k) {
      std::ranges::copy(inputs[k].bytes, staged_[k].bytes().begin());
    }
    poison_ = random_.next();
    sink_.aim(slot);
    sink_.poison(poison_);
    RETURN_IF_ERROR(adapted_.infer(views_, sink_));
    RETURN_IF_ERROR(check_ends(sink_, *outputs_));
    input_changed_ = false;
    for (std::size_t k = 0; k < staged_.size(); ++k) {
      input_changed_ |= !std::ranges::equal(inputs[k].bytes, staged_[k].bytes());
      // What still reads the input now reads something else.
      std::memset(staged_[k].bytes().data(), static_cast<int>(poison_ & 0xFFU),
                  staged_[k].bytes().size());
    }
    return ok_status();
  }

  std::uint64_t poison() const { return poison_; }
  bool input_changed() const { return input_changed_; }
  std::size_t missing_capacity_bytes() const { return sink_.missing_capacity_bytes(); }

 private:
  Caller(host::Runtime& runtime, const host::Adaptation& adaptation, const ArenaLayout& layout,
         std::uint64_t seed)
      : adapted_(runtime, adaptation),
        outputs_(&layout.outputs),
        sink_(layout.outputs.size()),
        random_(seed) {}

  host::AdaptedRuntime adapted_;
  const std::vector<TensorSpec>* outputs_;
  SlotSink sink_;
  loadgen::Random random_;
  std::vector<Tensor> staged_;
  std::vector<TensorView> views_;
  std::uint64_t poison_ = 0;
  bool input_changed_ = false;
};

// What one thread of a series came to.
struct Share {
  Status status;
  std::size_t needed_bytes = 0;
  check::CallDifferences differences;
};

class Series {
 public:
  Series(host::Runtime& runtime, const host::Adaptation& adaptation, const ArenaLayout& layout,
         std::span<std::byte> arena, const ExerciseSettings& settings)
      : runtime_(&runtime),
        adaptation_(&adaptation),
        layout_(&layout),
        arena_(arena),
        settings_(&settings),
        slots_(layout.input_slots),
        order_(loadgen::QueryOrder::shuffled(static_cast<std::uint32_t>(slots_), settings.seed)),
        start_(static_cast<std::ptrdiff_t>(settings.clients)),
        one_call_(runtime.thread_rule() == host::ThreadRule::kOneCall) {
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      inputs_.push_back(slot_views(layout, arena, slot));
    }
  }

  Status record(std::size_t& needed_bytes) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Caller> caller,
                     Caller::create(*runtime_, *adaptation_, *layout_, settings_->seed));
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      const std::span<std::byte> into = output_slot(*layout_, arena_, slot);
      Status status = caller->call(inputs_[slot], into);
      if (status.ok()) status = caller->call(inputs_[slot], into);
      needed_bytes = caller->missing_capacity_bytes();
      RETURN_IF_ERROR(status.with_context(fmt::format("first call of batch {}", slot)));
    }
    return ok_status();
  }

  Status read_expected() {
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      ASSIGN_OR_RETURN(std::vector<TensorView> outputs,
                       read_output_slot(*layout_, output_slot(*layout_, arena_, slot)));
      expected_.push_back(std::move(outputs));
    }
    return ok_status();
  }

  Share run() {
    std::vector<Share> shares(settings_->clients);
    {
      std::vector<std::jthread> others;
      for (std::uint32_t i = 1; i < settings_->clients; ++i) {
        others.emplace_back([this, i, &shares] { run_client(i, shares[i]); });
      }
      run_client(0, shares[0]);
    }
    Share total = std::move(shares[0]);
    for (std::size_t i = 1; i < shares.size(); ++i) {
      if (total.status.ok()) total.status = shares[i].status;
      total.needed_bytes = std::max(total.needed_bytes, shares[i].needed_bytes);
      total.differences.add(shares[i].differences);
    }
    return total;
  }

 private:
  void run_client(std::uint32_t client, Share& share) {
    const Result<std::unique_ptr<Caller>> caller = Caller::create(
        *runtime_, *adaptation_, *layout_, settings_->seed * settings_->clients + client);
    start_.arrive_and_wait();
    share.status = caller.ok() ? run_calls(client, **caller, share) : caller.status();
    if (caller.ok()) share.needed_bytes = (*caller)->missing_capacity_bytes();
  }

  std::uint64_t slot_of(std::uint64_t call) const {
    const std::vector<std::uint64_t>& order = settings_->order;
    return order.empty() ? order_.slot(call) : order[call % order.size()];
  }

  Status run_calls(std::uint32_t client, Caller& caller, Share& share) {
    ASSIGN_OR_RETURN(
        check::StabilityCounter counter,
        check::StabilityCounter::create(expected_, settings_->rows, settings_->class_output));
    const auto own_slot = output_slot(*layout_, arena_, slots_ + client);
    const std::int64_t end_ns = now_ns() + settings_->max_duration_ns;
    std::optional<std::uint64_t> previous;
    for (std::uint64_t call = client; call < settings_->calls && now_ns() < end_ns;
         call += settings_->clients) {
      const std::uint64_t slot = slot_of(call);
      const Status status = infer(caller, slot, own_slot);
      RETURN_IF_ERROR(status.with_context(fmt::format("call {}", call)));
      ASSIGN_OR_RETURN(const std::vector<TensorView> got, read_output_slot(*layout_, own_slot));
      RETURN_IF_ERROR(counter.add({.call = call,
                                   .slot = slot,
                                   .previous = previous.value_or(slot),
                                   .first = slot_of(client),
                                   .poison = caller.poison(),
                                   .input_changed = caller.input_changed()},
                                  got));
      previous = slot;
    }
    share.differences = counter.finish();
    return ok_status();
  }

  Status infer(Caller& caller, std::uint64_t slot, std::span<std::byte> into) {
    if (!one_call_) return caller.call(inputs_[slot], into);
    const std::scoped_lock lock(instance_);
    return caller.call(inputs_[slot], into);
  }

  host::Runtime* runtime_;
  const host::Adaptation* adaptation_;
  const ArenaLayout* layout_;
  std::span<std::byte> arena_;
  const ExerciseSettings* settings_;
  std::size_t slots_;
  loadgen::QueryOrder order_;
  std::barrier<> start_;
  bool one_call_;
  std::mutex instance_;
  std::vector<std::vector<TensorView>> inputs_;
  std::vector<std::vector<TensorView>> expected_;
};

}  // namespace

Result<check::CallDifferences> exercise(host::Runtime& runtime, const host::Adaptation& adaptation,
                                        const ArenaLayout& layout, std::span<std::byte> arena,
                                        const ExerciseSettings& settings,
                                        std::size_t& needed_bytes) {
  if (settings.clients == 0 || layout.input_slots == 0 ||
      layout.output_slots < layout.input_slots + settings.clients) {
    return invalid_argument(fmt::format("{} callers, {} batches and {} output slots",
                                        settings.clients, layout.input_slots, layout.output_slots));
  }
  for (const std::uint64_t slot : settings.order) {
    if (slot >= layout.input_slots) {
      return out_of_range(fmt::format("slot {} of {}", slot, layout.input_slots));
    }
  }
  Series series(runtime, adaptation, layout, arena, settings);
  if (settings.record) {
    RETURN_IF_ERROR(series.record(needed_bytes));
    return check::CallDifferences{};
  }
  RETURN_IF_ERROR(series.read_expected());
  Share total = series.run();
  needed_bytes = total.needed_bytes;
  RETURN_IF_ERROR(total.status);
  return std::move(total.differences);
}

}  // namespace assay::worker
