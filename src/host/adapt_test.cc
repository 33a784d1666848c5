#include "host/adapt.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/testing.h"
#include "host/host_test_support.h"
#include "host/test_plugin.h"
#include "tensor/convert.h"

namespace assay::host {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::KeepingSink;
using testing::Script;
using testing::tensor_of;

Signature model_of(DType input, DType output = DType::kFloat32) {
  return {{{"x", input, {-1, 3}}}, {{"y", output, {-1, 3}}}};
}

TEST(Plan, SameDtypePassesAsItIs) {
  const auto plan = plan_adaptation({{"x", DType::kFloat32, {1, 3}}}, model_of(DType::kFloat32),
                                    AdaptPolicy::kLossless, true);
  ASSERT_THAT(plan, IsOk());
  EXPECT_FALSE(plan->converts());
}

TEST(Plan, TheLoadedBatchIsTheCallers) {
  const Signature model = {{{"x", DType::kFloat32, {4, 1, 64}}, {"rows", DType::kInt64, {104, 2}}},
                           {{"y", DType::kFloat32, {4, 3}}}};
  const std::vector<TensorSpec> asked = {{"rows", DType::kInt64, {1664, 2}},
                                         {"x", DType::kFloat32, {64, 1, 64}}};
  EXPECT_FALSE(plan_adaptation(asked, model, AdaptPolicy::kLossless, true).ok());
  const std::vector<TensorSpec> loaded = in_loaded_batches(asked, model, 64, 4);
  EXPECT_THAT(loaded[0].shape, ElementsAre(104, 2));
  EXPECT_THAT(loaded[1].shape, ElementsAre(4, 1, 64));
  EXPECT_THAT(plan_adaptation(loaded, model, AdaptPolicy::kLossless, true), IsOk());

  // What differs otherwise than the batch does stays the caller's, for the message.
  EXPECT_THAT(in_loaded_batches({{"x", DType::kFloat32, {64, 3, 64}}}, model, 64, 4)[0].shape,
              ElementsAre(4, 3, 64));
}

TEST(Plan, LosslessConversionIsDoneUnasked) {
  const auto plan = plan_adaptation({{"x", DType::kFloat16, {1, 3}}}, model_of(DType::kFloat32),
                                    AdaptPolicy::kLossless, false);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->inputs[0].from, DType::kFloat16);
  EXPECT_EQ(plan->inputs[0].to, DType::kFloat32);
  EXPECT_FALSE(plan->inputs[0].lossy);
}

TEST(Plan, LossyConversionIsDoneOnlyWhenAskedFor) {
  const std::vector<TensorSpec> caller = {{"x", DType::kFloat32, {1, 3}}};
  EXPECT_THAT(plan_adaptation(caller, model_of(DType::kFloat16), AdaptPolicy::kLossless, false),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("FLOAT32 [1,3]"), HasSubstr("FLOAT16 [?,3]"),
                             HasSubstr("would lose"))));
  const auto plan = plan_adaptation(caller, model_of(DType::kFloat16), AdaptPolicy::kLossy, false);
  ASSERT_THAT(plan, IsOk());
  EXPECT_TRUE(plan->inputs[0].lossy);
}

TEST(Plan, FloatToIntegerIsNeverMeant) {
  EXPECT_THAT(
      plan_adaptation({{"x", DType::kFloat32, {1, 3}}}, model_of(DType::kInt64),
                      AdaptPolicy::kLossy, false),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("FLOAT32"), HasSubstr("INT64"))));
}

TEST(Plan, EveryProblemIsNamedAtOnce) {
  const Signature model = {{{"ids", DType::kInt64, {-1, 64}}, {"mask", DType::kInt64, {-1, 64}}},
                           {{"y", DType::kFloat32, {-1}}}};
  EXPECT_THAT(
      plan_adaptation({{"ids", DType::kInt64, {1, 32}}, {"segments", DType::kInt64, {1, 64}}},
                      model, AdaptPolicy::kLossy, false),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("[1,32]"), HasSubstr("[?,64]"), HasSubstr("\"mask\""),
                     HasSubstr("\"segments\""))));
}

TEST(Plan, CallersOrderNeedNotBeTheModels) {
  const Signature model = {{{"a", DType::kInt64, {-1}}, {"b", DType::kFloat32, {-1}}},
                           {{"y", DType::kFloat32, {-1}}}};
  const auto plan = plan_adaptation({{"b", DType::kFloat32, {1}}, {"a", DType::kInt32, {1}}}, model,
                                    AdaptPolicy::kLossless, false);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->inputs[0].source, 1U);
  EXPECT_EQ(plan->inputs[1].source, 0U);
}

TEST(Plan, OnlySixteenBitOutputsAreWidened) {
  const Signature model = {{},
                           {{"half", DType::kFloat16, {-1}},
                            {"brain", DType::kBFloat16, {-1}},
                            {"ids", DType::kInt64, {-1}}}};
  const auto plan = plan_adaptation({}, model, AdaptPolicy::kLossless, true);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->outputs[0].to, DType::kFloat32);
  EXPECT_EQ(plan->outputs[1].to, DType::kFloat32);
  EXPECT_EQ(plan->outputs[2].to, DType::kInt64);
}

// A loaded runtime whose model is x: FLOAT16 [?,3] -> y: FLOAT16 [?,3], y = x.
class Adapted : public ::testing::Test {
 protected:
  void SetUp() override {
    Script::reset();
    Script::get().describe = [](const assay_signature_sink& sink) {
      const std::int64_t shape[2] = {-1, 3};
      assay_tensor tensor{};
      tensor.dtype = ASSAY_FLOAT16;
      tensor.rank = 2;
      tensor.shape = shape;
      tensor.name = "x";
      sink.add(sink.context, ASSAY_INPUT, &tensor);
      tensor.name = "y";
      sink.add(sink.context, ASSAY_OUTPUT, &tensor);
    };
    Script::get().infer = [](const assay_infer_request& request, assay_error* error) {
      assay_tensor y = request.inputs[0];
      y.name = "y";
      y.data = nullptr;
      const std::int32_t code =
          request.outputs->alloc_output(request.outputs->context, 0, &y, error);
      if (code == ASSAY_OK) std::memcpy(y.data, request.inputs[0].data, y.size_bytes);
      return code;
    };
  }

  static RuntimeBackend loaded() {
    const Library library = Library::from_entry(&Script::entry, "script").value();
    RuntimeBackend runtime = RuntimeBackend::create(library).value();
    EXPECT_THAT(runtime.load({}), IsOk());
    return runtime;
  }
};

TEST_F(Adapted, FloatsGoToAHalfModelAndComeBackAsFloats) {
  RuntimeBackend runtime = loaded();
  const Tensor input = tensor_of<float>("x", DType::kFloat32, {1, 3}, {1.0F, 0.1F, 70000.0F});
  auto plan =
      plan_adaptation({input.spec()}, runtime.signature(), AdaptPolicy::kLossy, true).value();
  AdaptedRuntime adapted(runtime, std::move(plan));
  EXPECT_EQ(adapted.output_specs()[0].dtype, DType::kFloat32);
  KeepingSink sink;
  const TensorView view = input.view();
  ASSERT_THAT(adapted.infer({&view, 1}, sink), IsOk());
  EXPECT_EQ(sink.outputs[0].shape, (Shape{1, 3}));
  // 0.1 in binary16 is 0x2E66 = 0.0999755859375; 70000 is beyond its largest value.
  EXPECT_THAT(sink.outputs[0].values<float>(),
              ElementsAre(1.0F, 0.0999755859375F, std::numeric_limits<float>::infinity()));
  EXPECT_EQ(adapted.counts().calls, 1U);
  EXPECT_EQ(adapted.counts().tensors, 2U);
}

TEST_F(Adapted, AnotherBatchOfTheSameInputWorks) {
  RuntimeBackend runtime = loaded();
  auto plan = plan_adaptation({{"x", DType::kFloat32, {-1, 3}}}, runtime.signature(),
                              AdaptPolicy::kLossy, true)
                  .value();
  AdaptedRuntime adapted(runtime, std::move(plan));
  KeepingSink sink;
  for (const std::int64_t rows : {2, 1}) {
    const std::vector<float> values(static_cast<std::size_t>(rows) * 3, static_cast<float>(rows));
    const Tensor input = tensor_of<float>("x", DType::kFloat32, {rows, 3}, values);
    const TensorView view = input.view();
    ASSERT_THAT(adapted.infer({&view, 1}, sink), IsOk());
    EXPECT_EQ(sink.outputs[0].values<float>(), values);
  }
}

TEST_F(Adapted, NothingToConvertCountsNothing) {
  RuntimeBackend runtime = loaded();
  const Tensor input = tensor_of<std::uint16_t>(
      "x", DType::kFloat16, {1, 3}, {float_to_half(1), float_to_half(2), float_to_half(3)});
  auto plan =
      plan_adaptation({input.spec()}, runtime.signature(), AdaptPolicy::kLossless, false).value();
  AdaptedRuntime adapted(runtime, std::move(plan));
  KeepingSink sink;
  const TensorView view = input.view();
  ASSERT_THAT(adapted.infer({&view, 1}, sink), IsOk());
  EXPECT_EQ(adapted.counts().tensors, 0U);
  EXPECT_EQ(adapted.counts().input_ns, 0U);
  EXPECT_EQ(sink.outputs[0].values<std::uint16_t>()[2], float_to_half(3));
}

TEST_F(Adapted, TensorOtherThanPlannedIsRefused) {
  RuntimeBackend runtime = loaded();
  auto plan = plan_adaptation({{"x", DType::kFloat32, {1, 3}}}, runtime.signature(),
                              AdaptPolicy::kLossy, true)
                  .value();
  AdaptedRuntime adapted(runtime, std::move(plan));
  KeepingSink sink;
  const Tensor input = tensor_of<double>("x", DType::kFloat64, {1, 3}, {1, 2, 3});
  const TensorView view = input.view();
  EXPECT_THAT(adapted.infer({&view, 1}, sink),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("FLOAT32")));
  EXPECT_THAT(adapted.infer({}, sink), StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"x\"")));
}

TEST_F(Adapted, IntegerThatDoesNotFitIsNamed) {
  Script::get().describe = [](const assay_signature_sink& sink) {
    const std::int64_t shape[1] = {-1};
    assay_tensor tensor{};
    tensor.dtype = ASSAY_INT32;
    tensor.rank = 1;
    tensor.shape = shape;
    tensor.name = "x";
    sink.add(sink.context, ASSAY_INPUT, &tensor);
    sink.add(sink.context, ASSAY_OUTPUT, &tensor);
  };
  RuntimeBackend runtime = loaded();
  const Tensor input = tensor_of<std::int64_t>("x", DType::kInt64, {2}, {1, std::int64_t{1} << 40});
  auto plan =
      plan_adaptation({input.spec()}, runtime.signature(), AdaptPolicy::kLossy, false).value();
  AdaptedRuntime adapted(runtime, std::move(plan));
  const TensorView view = input.view();
  EXPECT_THAT(adapted.adapt_inputs({&view, 1}),
              StatusIs(StatusCode::kOutOfRange, AllOf(HasSubstr("\"x\""), HasSubstr("element 1"))));
}

}  // namespace
}  // namespace assay::host
