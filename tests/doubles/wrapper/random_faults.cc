// Faults that chance decides, or what the heap happened to hold.

#include <cmath>
#include <cstdlib>
#include <mutex>
#include <new>
#include <random>

#include "fault.h"

namespace wrapper {
namespace {

// Rounds up or down to 12 significand bits, each with the probability of the other one's distance.
class Rounding : public AnswerFault {
 public:
  explicit Rounding(std::uint64_t seed) : generator_(seed) {}

 protected:
  void change(Answer& answer, const Call& /*call*/) override {
    const std::lock_guard lock(mutex_);
    for (auto& [index, output] : answer) {
      change_each(output, [&](double value, std::size_t /*i*/) { return rounded(value); });
    }
  }

 private:
  double rounded(double value) {
    if (!std::isfinite(value)) return value;
    int exponent = 0;
    const double scaled = std::ldexp(std::frexp(value, &exponent), kBits);
    const double below = std::floor(scaled);
    const double chance = static_cast<double>(generator_() >> 11) / kSteps;
    return std::ldexp(below + (chance < scaled - below ? 1 : 0), exponent - kBits);
  }

  static constexpr int kBits = 12;
  static constexpr double kSteps = 9007199254740992.0;  // 2^53

  std::mutex mutex_;
  std::mt19937_64 generator_;  // guarded by mutex_
};

// Every load draws another seed.
class RandomRounding : public Rounding {
 public:
  RandomRounding() : Rounding(entropy()) {}

 private:
  static std::uint64_t entropy() {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }
};

// Every load begins with the same seed: calls differ, their sequence is the same on each handle.
class SeededRounding : public Rounding {
 public:
  explicit SeededRounding(const FaultSetup& setup)
      : Rounding(static_cast<std::uint64_t>(setup.seed(1))) {}
};

// Pads with memory that it allocates anew in each call and does not initialise: up to a thousandth
// is added to the last quarter of each output, by what the padding held. The size is one that the
// heap hands out again (above its per-thread cache, which MALLOC_PERTURB_ does not reach), and the
// same call uses it again for a copy of its input, so that the next one finds that.
class UninitialisedPadding : public AnswerFault {
 protected:
  void change(Answer& answer, const Call& call) override {
    read_padding(answer);
    leave_input(call);
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  using Scratch = std::unique_ptr<unsigned char[], Free>;

  static Scratch allocate() {
    Scratch scratch(static_cast<unsigned char*>(std::malloc(kScratchBytes)));
    if (scratch == nullptr) throw std::bad_alloc();
    return scratch;
  }

  static void read_padding(Answer& answer) {
    const Scratch scratch = allocate();
    // Volatile, so that no compiler reasons about what was never written.
    const volatile unsigned char* const padding = scratch.get();
    for (auto& [index, output] : answer) {
      const std::size_t first = output.element_count() - (output.element_count() + 3) / 4;
      change_each(output, [&](double value, std::size_t i) {
        if (i < first) return value;
        double sum = 0;
        const std::size_t run = (i - first) % (kScratchBytes / kRunBytes);
        for (std::size_t k = 0; k < kRunBytes; ++k) sum += padding[run * kRunBytes + k];
        return value * (1 + 1e-3 * sum / (255.0 * kRunBytes));
      });
    }
  }

  static void leave_input(const Call& call) {
    const Scratch scratch = allocate();
    const assay_tensor& input = call.inputs()[0];
    const auto* const bytes = static_cast<const unsigned char*>(input.data);
    for (std::size_t i = 0; i < kScratchBytes && input.size_bytes > 0; ++i) {
      scratch[i] = bytes[i % input.size_bytes];
    }
    // Kept by the compiler though nobody reads it any more.
    asm volatile("" : : "r"(scratch.get()) : "memory");
  }

  static constexpr std::size_t kScratchBytes = 6144;
  static constexpr std::size_t kRunBytes = 64;
};

constexpr FaultRow kRows[] = {
    {"uninitialised_padding", make_fault<UninitialisedPadding>},
    {"random_rounding", make_fault<RandomRounding>},
    {"seeded_rounding", make_fault_from<SeededRounding>},
};

}  // namespace

std::span<const FaultRow> random_faults() { return kRows; }

}  // namespace wrapper
