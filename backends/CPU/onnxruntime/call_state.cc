#include "onnxruntime/call_state.h"

#include <pthread.h>

#include <algorithm>

namespace cpu {
namespace {

// Where this thread looks first: threads' control blocks are pages apart.
std::size_t first_place() { return static_cast<std::size_t>(pthread_self()) >> 12; }

}  // namespace

ValueCache::ValueCache(const OrtApi& api, const OrtMemoryInfo* memory,
                       ONNXTensorElementDataType type)
    : api_(&api), memory_(memory), type_(type), entries_(kEntries) {}

bool ValueCache::Entry::holds(const void* at, const std::int64_t* dims,
                              std::size_t dim_count) const {
  return at != nullptr && data == at && rank == dim_count &&
         std::equal(dims, dims + dim_count, shape.data());
}

OrtValue* ValueCache::get(void* data, std::size_t size_bytes, const std::int64_t* shape,
                          std::size_t rank) {
  // Buffers are multiples of 64 bytes apart, and often of a power of two: Fibonacci hashing spreads
  // them (Knuth, The Art of Computer Programming, volume 3, section 6.4).
  const auto hash = (reinterpret_cast<std::uintptr_t>(data) >> 6) * 0x9E3779B97F4A7C15ULL;
  static_assert(kEntries == 64, "the top six bits choose the entry");
  Entry& entry = entries_[hash >> 58];
  if (entry.holds(data, shape, rank)) return entry.value.get();

  static char nothing = 0;  // a tensor without elements may come without memory
  OrtValue* value = nullptr;
  check(*api_, api_->CreateTensorWithDataAsOrtValue(memory_, data != nullptr ? data : &nothing,
                                                    size_bytes, shape, rank, type_, &value));
  entry.value = {value, Release{api_}};
  // More dimensions than fit are never found again: the value is made anew each time.
  entry.data = rank <= kMaxRank ? data : nullptr;
  entry.rank = rank;
  std::copy_n(shape, std::min(rank, kMaxRank), entry.shape.data());
  return value;
}

IdleStates::~IdleStates() {
  for (auto& place : places_) delete place.load();
}

std::unique_ptr<CallState> IdleStates::take() {
  const std::size_t first = first_place();
  for (std::size_t i = 0; i < kPlaces; ++i) {
    auto& place = places_[(first + i) % kPlaces];
    if (place.load(std::memory_order_relaxed) == nullptr) continue;
    if (CallState* state = place.exchange(nullptr, std::memory_order_acquire)) {
      return std::unique_ptr<CallState>(state);
    }
  }
  return nullptr;
}

void IdleStates::put(std::unique_ptr<CallState> state) {
  const std::size_t first = first_place();
  for (std::size_t i = 0; i < kPlaces; ++i) {
    CallState* nobody = nullptr;
    if (places_[(first + i) % kPlaces].compare_exchange_strong(nobody, state.get(),
                                                               std::memory_order_release)) {
      // NOLINTNEXTLINE(bugprone-unused-return-value): the place owns it now.
      state.release();
      return;
    }
  }
}

}  // namespace cpu
