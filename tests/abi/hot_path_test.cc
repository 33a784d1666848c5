// The call in the timed loop allocates nothing: counted by replacing operator new, which the
// backend's library then uses too.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "base/testing.h"
#include "host/backend.h"
#include "host/host_test_support.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace assay::host {
namespace {

// Hands out the same memory each time, as the worker's slots do.
class SlotSink : public OutputSink {
 public:
  Result<std::span<std::byte>> allocate(std::size_t, std::span<const std::int64_t>,
                                        std::size_t size_bytes) override {
    return std::span<std::byte>(slot_).first(size_bytes);
  }

 private:
  alignas(64) std::byte slot_[64];
};

TEST(HotPath, SuccessfulInferAllocatesNothing) {
  const auto library = Library::open(ASSAY_BINARY_DIR "/backends/NULL/libassay_backend_null.so");
  ASSERT_THAT(library, assay::testing::IsOk());
  auto runtime = RuntimeBackend::create(*library).value();
  ASSERT_THAT(runtime.load({}), assay::testing::IsOk());
  const Tensor input = testing::tensor_of<float>("x", DType::kFloat32, {2, 1}, {1, 2});
  const TensorView view = input.view();
  SlotSink sink;
  const std::uint64_t before = allocations.load();
  bool ok = true;
  for (int call = 0; call < 1000; ++call) ok = ok && runtime.infer({&view, 1}, sink).ok();
  const std::uint64_t after = allocations.load();
  EXPECT_TRUE(ok);
  EXPECT_EQ(after, before);
}

// The counter would not be seen to fail otherwise.
TEST(HotPath, RefusedInferAllocatesItsMessageAndIsCounted) {
  const auto library = Library::open(ASSAY_BINARY_DIR "/backends/NULL/libassay_backend_null.so");
  auto runtime = RuntimeBackend::create(*library).value();
  ASSERT_THAT(runtime.load({}), assay::testing::IsOk());
  SlotSink sink;
  const std::uint64_t before = allocations.load();
  EXPECT_FALSE(runtime.infer({}, sink).ok());
  EXPECT_GT(allocations.load(), before);
}

}  // namespace
}  // namespace assay::host
