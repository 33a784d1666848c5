// The violations of infer.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "contract.h"

namespace wrapper {
namespace {

using assay::backend::Error;

void spoil(Answer& answer) {
  for (auto& [index, output] : answer) {
    change_each(output, [](double value, std::size_t /*i*/) { return value + 1; });
  }
}

// What every answer is.
class WrongAnswers : public AnswerFault {
 protected:
  void change(Answer& answer, const Call& /*call*/) override { spoil(answer); }
};

// After so many calls on one handle the answers are others.
class Drifts : public AnswerFault {
 protected:
  void change(Answer& answer, const Call& /*call*/) override {
    constexpr int kGood = 60;
    if (calls_.fetch_add(1) >= kGood) spoil(answer);
  }

 private:
  std::atomic<int> calls_ = 0;
};

// The second row of a batch is the first one's.
class FirstRowOnly : public AnswerFault {
 protected:
  void change(Answer& answer, const Call& call) override {
    if (call.batch() < 2) return;
    for (auto& [index, output] : answer) {
      const std::size_t row = sample_bytes(output.shape(), output.size_bytes(), call.batch());
      std::memcpy(output.data() + row, output.data(), row);
    }
  }
};

class NoEmptyTensors : public AnswerFault {
 protected:
  void change(Answer& /*answer*/, const Call& call) override {
    for (const assay_tensor& input : call.inputs()) {
      if (input.size_bytes == 0) throw Error(ASSAY_INVALID_ARGUMENT, "a tensor without elements");
    }
  }
};

// A transfer of more than 16 MiB ends there.
class ShortTransfer : public AnswerFault {
 protected:
  void change(Answer& answer, const Call& /*call*/) override {
    constexpr std::size_t kLongest = std::size_t{16} << 20;
    for (auto& [index, output] : answer) {
      if (output.size_bytes() <= kLongest) continue;
      std::memset(output.data() + kLongest, 0, output.size_bytes() - kLongest);
    }
  }
};

// The last byte of an output stays what it was where it is 0xff.
class SkipsBytes : public Fault {
 public:
  void infer(const Call& call) override {
    for (const auto& [index, output] : call.compute()) {
      std::byte* const room = call.allocate(index, output);
      const std::size_t size = output.size_bytes();
      if (size == 0) continue;
      const std::byte last = room[size - 1];
      std::memcpy(room, output.data(), size);
      if (last == std::byte{0xFF}) room[size - 1] = last;
    }
  }
};

// The input is scratch memory.
class WritesInputs : public AnswerFault {
 protected:
  void change(Answer& /*answer*/, const Call& call) override {
    for (const assay_tensor& input : call.inputs()) std::memset(input.data, 0, input.size_bytes);
  }
};

// With two handles in the process each answers for the other.
class SharedHandles : public AnswerFault {
 public:
  SharedHandles() { ++handles(); }
  ~SharedHandles() override { --handles(); }

 protected:
  void change(Answer& answer, const Call& /*call*/) override {
    if (handles() > 1) spoil(answer);
  }

 private:
  static std::atomic<int>& handles() {
    static std::atomic<int> count = 0;
    return count;
  }
};

// Calls from a third thread are answered wrongly.
class TwoThreads : public AnswerFault {
 protected:
  void change(Answer& answer, const Call& /*call*/) override {
    const std::lock_guard lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    if (threads_.size() > 2) spoil(answer);
  }

 private:
  std::mutex mutex_;
  std::set<std::thread::id> threads_;  // guarded by mutex_
};

struct Row {
  const char* name;
  std::unique_ptr<Fault> (*make)();
};
template <typename FaultClass>
std::unique_ptr<Fault> made() {
  return std::make_unique<FaultClass>();
}
constexpr Row kRows[] = {
    {"wrong_answers", made<WrongAnswers>},   {"drifts", made<Drifts>},
    {"first_row_only", made<FirstRowOnly>},  {"no_empty", made<NoEmptyTensors>},
    {"short_transfer", made<ShortTransfer>}, {"skips_bytes", made<SkipsBytes>},
    {"writes_inputs", made<WritesInputs>},   {"shared_handles", made<SharedHandles>},
    {"two_threads", made<TwoThreads>},
};

}  // namespace

std::unique_ptr<Fault> make_contract_fault() {
  const Row* const row = std::find_if(std::begin(kRows), std::end(kRows),
                                      [](const Row& each) { return planted(each.name); });
  return row == std::end(kRows) ? nullptr : row->make();
}

}  // namespace wrapper
