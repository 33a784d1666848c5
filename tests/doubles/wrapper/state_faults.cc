// Faults of what stays from call to call: buffers, sums, caches, counters.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "fault.h"

namespace wrapper {
namespace {

// The input is copied to the device without waiting for the copy: the computation begins while the
// last third of the device's buffer holds what the call before left there, zeros before the first.
class AsyncInput : public Fault {
 public:
  void infer(const Call& call) override {
    const std::lock_guard lock(mutex_);
    std::vector<Array> staged = call.copied_inputs();
    device_.resize(std::max(device_.size(), staged.size()));
    for (std::size_t i = 0; i < staged.size(); ++i) copy_first_part(staged[i], device_[i]);
    const Answer answer = call.compute(staged);
    for (std::size_t i = 0; i < staged.size(); ++i) {
      const assay_tensor& input = call.inputs()[i];
      if (input.size_bytes > 0) std::memcpy(device_[i].data(), input.data, input.size_bytes);
    }
    call.deliver(answer);
  }

 private:
  static void copy_first_part(Array& staged, std::vector<std::byte>& device) {
    device.resize(std::max(device.size(), staged.size_bytes()));
    const std::size_t count = staged.element_count();
    const std::size_t arrived = (count - count / 3) * staged.element_bytes();
    std::copy(device.begin() + static_cast<std::ptrdiff_t>(arrived),
              device.begin() + static_cast<std::ptrdiff_t>(staged.size_bytes()),
              staged.data() + arrived);
  }

  std::mutex mutex_;
  std::vector<std::vector<std::byte>> device_;  // guarded by mutex_; one buffer per input
};

// The last quarter of each output, rounded up to an element, is not written.
class PartialOutput : public Fault {
 public:
  void infer(const Call& call) override {
    for (const auto& [index, output] : call.compute()) {
      const std::size_t count = output.element_count();
      const std::size_t written = (count - (count + 3) / 4) * output.element_bytes();
      std::byte* const room = call.allocate(index, output);
      if (written > 0) std::memcpy(room, output.data(), written);
    }
  }
};

// The buffer that the answer is fetched from is that of the call before.
class LateOutput : public AnswerFault {
 protected:
  void change(Answer& answer, const Call& /*call*/) override {
    const std::lock_guard lock(mutex_);
    for (auto& [index, output] : answer) {
      const auto [kept, is_first] = previous_.try_emplace(index, output);
      if (is_first) continue;
      const bool fits = alike(kept->second, output);
      std::swap(kept->second, output);
      if (!fits) output = kept->second;
    }
  }

 private:
  std::mutex mutex_;
  Answer previous_;  // guarded by mutex_
};

// A running average, 0 at the start, that is mixed into the outputs, element by element.
class KeptState : public AnswerFault {
 protected:
  void change(Answer& answer, const Call& /*call*/) override {
    const std::lock_guard lock(mutex_);
    for (auto& [index, output] : answer) {
      std::vector<double>& average = averages_[index];
      average.resize(std::max(average.size(), output.element_count()));
      change_each(output, [&](double value, std::size_t i) {
        const double mixed = value + kShare * (average[i] - value);
        average[i] += kSpeed * (value - average[i]);
        return mixed;
      });
    }
  }

 private:
  static constexpr double kShare = 1e-3;
  static constexpr double kSpeed = 0.1;

  std::mutex mutex_;
  std::map<std::uint32_t, std::vector<double>> averages_;  // guarded by mutex_
};

// After fault_after calls on the handle the answers are larger by a thousandth.
class ChangesAfter : public AnswerFault {
 public:
  explicit ChangesAfter(const FaultSetup& setup) : after_(setup.after(10000)) {}

 protected:
  void change(Answer& answer, const Call& /*call*/) override {
    if (calls_.fetch_add(1) < after_) return;
    for (auto& [index, output] : answer) {
      change_each(output, [](double value, std::size_t /*i*/) { return value * 1.001; });
    }
  }

 private:
  std::uint64_t after_;
  std::atomic<std::uint64_t> calls_ = 0;
};

// Results are cached by the shapes of the inputs alone.
class ShapeCache : public Fault {
 public:
  void infer(const Call& call) override { call.deliver(cached(call)); }

 private:
  Answer cached(const Call& call) {
    const std::lock_guard lock(mutex_);
    const std::string key = call.shape_key();
    const auto found = answers_.find(key);
    if (found != answers_.end()) return found->second;
    return answers_.emplace(key, call.compute()).first->second;
  }

  std::mutex mutex_;
  std::map<std::string, Answer> answers_;  // guarded by mutex_
};

// After fault_after calls infer returns without work, with the outputs of the last call of the same
// shapes that did any. Shapes that were never seen are still computed.
class EarlyReturn : public Fault {
 public:
  explicit EarlyReturn(const FaultSetup& setup) : after_(setup.after(200)) {}

  void infer(const Call& call) override { call.deliver(answer_to(call)); }

 private:
  Answer answer_to(const Call& call) {
    const std::lock_guard lock(mutex_);
    const std::string key = call.shape_key();
    const auto found = answers_.find(key);
    if (calls_++ >= after_ && found != answers_.end()) return found->second;
    return answers_.insert_or_assign(key, call.compute()).first->second;
  }

  std::uint64_t after_;
  std::mutex mutex_;
  std::uint64_t calls_ = 0;                // guarded by mutex_
  std::map<std::string, Answer> answers_;  // guarded by mutex_
};

// The caller's inputs serve as scratch memory: they come back with their elements in reverse order.
// The outputs are right. Values stay possible ones, so that the next call of a caller who trusts
// its buffer gives a wrong answer instead of failing.
class ReuseInput : public Fault {
 public:
  void infer(const Call& call) override {
    const Answer answer = call.compute();
    for (const assay_tensor& input : call.inputs()) reverse(input);
    call.deliver(answer);
  }

 private:
  static void reverse(const assay_tensor& input) {
    const Array copy = Array::copy_of(input);
    const std::size_t bytes = copy.element_bytes();
    auto* const data = static_cast<std::byte*>(input.data);
    for (std::size_t i = 0; i < copy.element_count(); ++i) {
      std::memcpy(data + i * bytes, copy.data() + copy.size_bytes() - (i + 1) * bytes, bytes);
    }
  }
};

constexpr FaultRow kRows[] = {
    {"async_input", make_fault<AsyncInput>},          {"partial_output", make_fault<PartialOutput>},
    {"late_output", make_fault<LateOutput>},          {"kept_state", make_fault<KeptState>},
    {"changes_after", make_fault_from<ChangesAfter>}, {"shape_cache", make_fault<ShapeCache>},
    {"early_return", make_fault_from<EarlyReturn>},   {"reuse_input", make_fault<ReuseInput>},
};

}  // namespace

std::span<const FaultRow> state_faults() { return kRows; }

}  // namespace wrapper
