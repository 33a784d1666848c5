#include "controller/batch_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/testing.h"

namespace assay::controller {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

BatchFacts facts(std::int64_t batch_size, Shape input, Shape output) {
  BatchFacts facts;
  facts.batch_size = batch_size;
  facts.batch_axes = {std::size_t{0}};
  facts.inputs = {{"x", DType::kFloat32, std::move(input)}};
  facts.outputs = {{"y", DType::kInt64, std::move(output)}};
  return facts;
}

TEST(BatchSplitter, AxisZeroHasToBeDeclaredTheBatch) {
  EXPECT_THAT(BatchSplitter::create(facts(8, {-1, 4}, {-1, 10})), IsOk());
  // NonZero gives [rank, found]: 2 is the rank, not the batch of 2.
  EXPECT_THAT(BatchSplitter::create(facts(2, {-1, 4}, {2, -1})),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("y"), HasSubstr("always 2"), HasSubstr("--batch_sizes 1"))));
  EXPECT_THAT(BatchSplitter::create(facts(2, {-1, 4}, {4, 10})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("always 4")));
}

TEST(BatchSplitter, AModelThatFixesItsBatchDeclaresMultiplesOfIt) {
  EXPECT_THAT(BatchSplitter::create(facts(2, {2, 4}, {2, 10})), IsOk());
  EXPECT_THAT(BatchSplitter::create(facts(2, {2, 4}, {6, 10})), IsOk());
  EXPECT_THAT(BatchSplitter::create(facts(2, {2, -1}, {2, -1})), IsOk());
  EXPECT_THAT(BatchSplitter::create(facts(2, {2, 4}, {3, 10})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no multiple")));
  EXPECT_THAT(BatchSplitter::create(facts(2, {2, 4}, {2, -1})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("depends on the values")));
}

TEST(BatchSplitter, WithABatchOfOneASampleIsTheWholeOutput) {
  const BatchSplitter splitter = BatchSplitter::create(facts(1, {-1, 4}, {2, -1})).value();
  const std::array<std::byte, 48> bytes{};
  const TensorView found{{"y", DType::kInt64, {2, 3}}, bytes};
  EXPECT_THAT((*splitter.sample_specs({found}))[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(splitter.row(found, 0).size(), 48U);
  const TensorView scalar{{"s", DType::kInt64, {}}, std::span(bytes).first(8)};
  EXPECT_TRUE((*splitter.sample_specs({scalar}))[0].shape.empty());
}

TEST(BatchSplitter, CutsRows) {
  const BatchSplitter splitter = BatchSplitter::create(facts(2, {-1, 4}, {-1, 3})).value();
  std::array<std::byte, 48> bytes{};
  bytes[24] = std::byte{7};
  const TensorView output{{"y", DType::kInt64, {2, 3}}, bytes};
  EXPECT_THAT((*splitter.sample_specs({output}))[0].shape, ElementsAre(3));
  EXPECT_EQ(splitter.row(output, 1)[0], std::byte{7});
  const TensorView odd{{"y", DType::kInt64, {3, 2}}, bytes};
  EXPECT_THAT(splitter.sample_specs({odd}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no multiple")));
}

TEST(BatchSplitter, ABatchOnAnotherAxisOfAnInputIsNotGuessedInTheOutputs) {
  BatchFacts sequence = facts(2, {-1, -1, 4}, {-1, -1, 4});
  sequence.batch_axes = {std::size_t{1}};
  EXPECT_THAT(BatchSplitter::create(sequence),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("batch on axis 1")));
  sequence.batch_size = 1;
  EXPECT_THAT(BatchSplitter::create(sequence), IsOk());
  BatchFacts unbatched = facts(2, {-1, 4}, {-1, 4});
  unbatched.inputs.push_back({"table", DType::kFloat32, {5}});
  unbatched.batch_axes.push_back(std::nullopt);
  EXPECT_THAT(BatchSplitter::create(unbatched), IsOk());
}

}  // namespace
}  // namespace assay::controller
