#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing.h"

namespace assay {
namespace {

TEST(Tensor, IsZeroedAlignedAndExactlySized) {
  const Tensor tensor = Tensor::make({"x", DType::kFloat16, {2, 3}}).value();
  EXPECT_EQ(tensor.bytes().size(), 12U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % 64, 0U);
  EXPECT_TRUE(std::all_of(tensor.bytes().begin(), tensor.bytes().end(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

TEST(Tensor, FreeDimensionIsRefused) {
  EXPECT_FALSE(Tensor::make({"x", DType::kFloat32, {-1, 3}}).ok());
}

TEST(Tensor, SpecReadsAsInMessages) {
  EXPECT_EQ(to_string(TensorSpec{"x", DType::kInt64, {-1, 8}}), "\"x\": INT64 [?,8]");
}

}  // namespace
}  // namespace assay
