#pragma once

// What calls need besides the session, kept from call to call: after a model's weights have gone
// through the caches, making ONNX Runtime's values anew costs a tenth of what a small model takes.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "onnxruntime/ort.h"

namespace cpu {

// ONNX Runtime values over the memory that one input or output was given lately. A value only names
// an address and a shape: it is used again when a call brings both again, and what it names is
// touched in no other call. One thread at a time.
class ValueCache {
 public:
  ValueCache(const OrtApi& api, const OrtMemoryInfo* memory, ONNXTensorElementDataType type);
  ValueCache(ValueCache&&) noexcept = default;

  // The value over `data`, which holds a whole tensor of this shape; the cache's. Allocates only
  // for memory and shapes that it has not seen lately.
  OrtValue* get(void* data, std::size_t size_bytes, const std::int64_t* shape, std::size_t rank);

 private:
  static constexpr std::size_t kEntries = 64;
  static constexpr std::size_t kMaxRank = 8;  // of tensors that are remembered

  struct Release {
    const OrtApi* api;
    void operator()(OrtValue* value) const { api->ReleaseValue(value); }
  };
  struct Entry {
    const void* data = nullptr;
    std::size_t rank = 0;
    std::array<std::int64_t, kMaxRank> shape{};
    std::unique_ptr<OrtValue, Release> value{nullptr, Release{nullptr}};

    bool holds(const void* at, const std::int64_t* dims, std::size_t dim_count) const;
  };

  const OrtApi* api_;
  const OrtMemoryInfo* memory_;
  ONNXTensorElementDataType type_;
  std::vector<Entry> entries_;  // by a hash of the address
};

// Everything that one call works in.
struct CallState {
  std::vector<ValueCache> input_values;
  std::vector<ValueCache> output_values;
  std::vector<const OrtValue*> inputs;  // of this call, borrowed from input_values
  std::vector<OrtValue*> outputs;       // likewise; null where ONNX Runtime is to allocate
  std::vector<std::int64_t> shape;      // scratch for the output of the highest rank
};

// The states that no call uses now. Thread-safe and lock-free.
class IdleStates {
 public:
  IdleStates() = default;
  IdleStates(const IdleStates&) = delete;
  IdleStates& operator=(const IdleStates&) = delete;
  ~IdleStates();

  // One that this thread used before, when it can be had; null when there is none.
  std::unique_ptr<CallState> take();
  // Kept for a later call, or dropped when enough are kept.
  void put(std::unique_ptr<CallState> state);

 private:
  static constexpr std::size_t kPlaces = 64;
  std::array<std::atomic<CallState*>, kPlaces> places_{};  // each owns what it holds
};

}  // namespace cpu
