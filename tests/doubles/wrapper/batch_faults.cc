// Faults of what is computed together: samples of one batch, callers at once.

#include <algorithm>
#include <cstring>
#include <mutex>

#include "fault.h"

namespace wrapper {
namespace {

// Each sample's output takes a hundredth of its neighbour's; the last sample's is right.
class NeighbourLeak : public AnswerFault {
 protected:
  void change(Answer& answer, const Call& call) override {
    for (auto& [index, output] : answer) {
      const std::size_t sample = sample_bytes(output.shape(), output.size_bytes(), call.batch());
      if (sample == 0) continue;
      const Array right = output;
      const std::size_t width = sample / output.element_bytes();
      change_each(output, [&](double value, std::size_t i) {
        if (i + width >= right.element_count()) return value;
        return value + 0.01 * (value_at(right, i + width) - value);
      });
    }
  }
};

// In a batch of more than one the last slot is fed with the first sample.
class LastSlot : public Fault {
 public:
  void infer(const Call& call) override {
    std::vector<Array> inputs = call.copied_inputs();
    for (Array& input : inputs) {
      const std::size_t sample = sample_bytes(input.shape(), input.size_bytes(), call.batch());
      if (sample > 0 && call.batch() > 1) {
        std::memcpy(input.data() + input.size_bytes() - sample, input.data(), sample);
      }
    }
    call.deliver(call.compute(inputs));
  }
};

// All callers fetch their outputs through one buffer: when more than one is inside, the second half
// of an output is what the caller before put there. A caller that is alone finds its own.
class Race : public Fault {
 public:
  void infer(const Call& call) override {
    const Inside inside(*this);
    Answer answer = call.compute();
    exchange(answer);
    call.deliver(answer);
  }

 private:
  class Inside {
   public:
    explicit Inside(Race& race) : race_(&race) {
      const std::lock_guard lock(race_->mutex_);
      if (race_->inside_++ == 0) race_->shared_.clear();
    }
    ~Inside() {
      const std::lock_guard lock(race_->mutex_);
      --race_->inside_;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Race* race_;
  };

  void exchange(Answer& answer) {
    const std::lock_guard lock(mutex_);
    const Answer others = std::exchange(shared_, answer);
    for (auto& [index, output] : answer) {
      const auto other = others.find(index);
      if (other == others.end() || !alike(other->second, output)) continue;
      const std::size_t first_half = output.element_count() / 2 * output.element_bytes();
      std::copy(other->second.data() + first_half, other->second.data() + output.size_bytes(),
                output.data() + first_half);
    }
  }

  std::mutex mutex_;
  int inside_ = 0;  // guarded by mutex_
  Answer shared_;   // guarded by mutex_; empty until somebody has put an answer there
};

constexpr FaultRow kRows[] = {
    {"neighbour_leak", make_fault<NeighbourLeak>},
    {"last_slot", make_fault<LastSlot>},
    {"race", make_fault<Race>},
};

}  // namespace

std::span<const FaultRow> batch_faults() { return kRows; }

}  // namespace wrapper
