#include "workload/batch_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"

namespace assay::workload {
namespace {

using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelInfo batched() {
  ModelInfo info;
  info.inputs = {{"x", DType::kFloat32, {1, 3}}};
  info.batch_axes = {std::size_t{0}};
  info.max_batch_size = 16;
  return info;
}

TEST(BatchSizes, OfABackendAreHeldToWhatTheModelTakes) {
  EXPECT_THAT(*accepted_batch_sizes(batched(), std::nullopt, {4, 1, 4}), ElementsAre(4, 1));
  EXPECT_THAT(accepted_batch_sizes(batched(), std::nullopt, {0, 4, 17}),
              StatusIs(StatusCode::kOutOfRange,
                       AllOf(HasSubstr("found 0, accepted"), HasSubstr("found 17, accepted"))));
  EXPECT_THAT(accepted_batch_sizes(batched(), std::nullopt, {}),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("found none")));
  ModelFile fixed;
  fixed.signature.inputs = {{"x", DType::kFloat32, {2, 3}}};
  ModelInfo info = batched();
  info.inputs[0].shape = {2, 3};
  EXPECT_THAT(accepted_batch_sizes(info, fixed, {8}),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("the model fixes its batch")));
}

TEST(BatchSizes, UsualOnesStayWithinTheModelsMaximum) {
  EXPECT_THAT(usual_batch_sizes(batched(), std::nullopt), ElementsAre(1, 8));
  EXPECT_THAT(usual_batch_sizes(batched(), 1), ElementsAre(1));
  ModelInfo small = batched();
  small.max_batch_size = 4;
  EXPECT_THAT(usual_batch_sizes(small, std::nullopt), ElementsAre(1, 4));
  small.batch_axes = {std::nullopt};
  EXPECT_THAT(usual_batch_sizes(small, std::nullopt), ElementsAre(1));
}

}  // namespace
}  // namespace assay::workload
