#include "conformance/models.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing.h"
#include "host/host_test_support.h"
#include "model/model.h"

namespace assay::conformance {
namespace {

using assay::testing::IsOk;
using ::testing::ElementsAre;

class Models : public ::testing::Test {
 protected:
  host::testing::ScratchFolder scratch_;
};

// x = 0 2 4 6: 1 + 0 + 2*4 + 6, 2 + 2 + 4 + 6, 3 + 0 + 2 + 6.
TEST_F(Models, LinearKnowsItsAnswers) {
  const auto model = linear_model(scratch_.path(), false);
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->cases[0].inputs[0].as<float>(), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(model->cases[0].outputs[0].as<float>(), ElementsAre(15, 14, 11));
}

// x = -1 0 1 2: 2 * (2 + 3) - 4, ...
TEST_F(Models, ChainKnowsItsAnswers) {
  const auto model = chain_model(scratch_.path());
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->cases[0].inputs[0].as<float>(), ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT(model->cases[0].outputs[0].as<float>(), ElementsAre(6, 4, 2, 4));
}

TEST_F(Models, LinearHasAFreeBatchUnlessItIsFixed) {
  const auto free = read_model(linear_model(scratch_.path(), false)->path, "onnx");
  ASSERT_THAT(free, IsOk());
  EXPECT_TRUE(free->batch.dynamic);
  const auto fixed = read_model(linear_model(scratch_.path(), true)->path, "onnx");
  ASSERT_THAT(fixed, IsOk());
  EXPECT_FALSE(fixed->batch.dynamic);
}

TEST_F(Models, RankKnowsItsOutputs) {
  const auto model = rank_model(scratch_.path(), 3, true);
  ASSERT_THAT(model, IsOk());
  const auto& outputs = model->cases[0].outputs;
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[0].spec(), (TensorSpec{"flat", DType::kFloat32, {6}}));
  EXPECT_EQ(outputs[1].spec(), (TensorSpec{"twice", DType::kFloat32, {1, 2, 6}}));
  EXPECT_EQ(outputs[2].spec(), (TensorSpec{"y", DType::kFloat32, {1, 2, 3}}));
  const auto& x = model->cases[0].inputs[0];
  const auto a = x.as<float>();
  EXPECT_THAT(outputs[1].as<float>(),
              ElementsAre(a[0], a[1], a[2], a[0], a[1], a[2], a[3], a[4], a[5], a[3], a[4], a[5]));
}

TEST_F(Models, AScalarHasNoLastDimensionToJoin) {
  const auto model = rank_model(scratch_.path(), 0, true);
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->cases[0].outputs.size(), 2U);
  EXPECT_EQ(model->cases[0].outputs[0].spec().shape, (Shape{1}));
}

TEST_F(Models, EveryDtypeCanBeWrittenAndRead) {
  for (std::uint32_t number = 1; is_dtype(number); ++number) {
    const auto dtype = static_cast<DType>(number);
    const auto model = identity_model(scratch_.path(), dtype);
    ASSERT_THAT(model, IsOk()) << name_of(dtype);
    const auto read = read_model(model->path, "onnx");
    ASSERT_THAT(read, IsOk()) << name_of(dtype);
    EXPECT_EQ(read->signature.inputs[0].dtype, dtype);
    EXPECT_EQ(model->info->value("input_type", ""), name_of(dtype));
  }
}

}  // namespace
}  // namespace assay::conformance
