// WRAPPER's faults of batches, callers, compilations, chance, pipelines and models.

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/sanitized.h"
#include "tensor/convert.h"
#include "wrapper/wrapper_test_support.h"

namespace assay::host::testing {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr std::size_t kClasses = 10;

class BatchFault : public WrapperTest {};
class CompileFault : public WrapperTest {};
class RandomFault : public WrapperTest {};
class PipelineFault : public WrapperTest {};
class ModelFault : public WrapperTest {};

template <typename Change>
Values changed(Values values, Change change) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(change(static_cast<double>(values[i]), i));
  }
  return values;
}

// ---- batches and callers ------------------------------------------------------------------------

TEST_F(BatchFault, NeighbourLeakTakesAHundredthOfTheNext) {
  use_cnn_with("neighbour_leak");
  EXPECT_EQ(infer(a_), right(a_));
  const Values answer = right(joined(a_, b_, c_));
  EXPECT_THAT(infer(joined(a_, b_, c_)),
              Pointwise(FloatEq(), changed(answer, [&](double value, std::size_t i) {
                          return i < 2 * kClasses ? 0.99 * value + 0.01 * answer[i + kClasses]
                                                  : value;
                        })));
}

TEST_F(BatchFault, LastSlotComputesTheFirstSample) {
  use_cnn_with("last_slot");
  EXPECT_EQ(infer(a_), right(a_));
  EXPECT_EQ(infer(joined(a_, b_, c_)), right(joined(a_, b_, a_)));
}

TEST_F(BatchFault, RaceMixesTheOutputsOfCallersAtOnce) {
  use_cnn_with("race");
  EXPECT_EQ(handle_->thread_rule(), ThreadRule::kAny);
  EXPECT_EQ(infer(a_), right(a_));
  EXPECT_EQ(infer(b_), right(b_)) << "alone it is right";
  const Tensor first = wrapped_->input(a_);
  const TensorView view = first.view();
  std::promise<void> is_inside;
  std::promise<void> may_leave;
  PoisonedSink held([&] {
    is_inside.set_value();
    may_leave.get_future().wait();
  });
  std::thread other([&] { EXPECT_THAT(handle_->infer({&view, 1}, held), IsOk()); });
  is_inside.get_future().wait();
  const Values mixed = infer(b_);
  may_leave.set_value();
  other.join();
  EXPECT_EQ(held.values(), right(a_));
  const Values a = right(a_);
  EXPECT_EQ(mixed, changed(right(b_), [&](double value, std::size_t i) {
              return i < kClasses / 2 ? value : static_cast<double>(a[i]);
            }));
  EXPECT_EQ(infer(b_), right(b_));
}

// ---- compilations -------------------------------------------------------------------------------

bool is_good(const Compiled& model, const Values& input, const Values& answer) {
  RuntimeBackend handle = model.load();
  const Values first = model.infer(handle, input);
  if (first == answer) return true;
  EXPECT_THAT(first, Pointwise(FloatEq(), changed(answer, [](double value, std::size_t) {
                                 return value * 1.01;
                               })));
  return false;
}

Json flaky(double rate) { return {{"fault", "compile_flaky"}, {"fault_rate", rate}}; }

TEST_F(CompileFault, ABadArtifactIsBadAtEveryLoadAndAGoodOneNever) {
  for (const double rate : {1.0, 0.0}) {
    use_cnn(flaky(rate));
    for (int load = 0; load < 2; ++load) {
      EXPECT_EQ(is_good(*wrapped_, a_, right(a_)), rate == 0.0);
    }
    EXPECT_EQ(*read_file(wrapped_->artifact() / "wrapper_mark.txt"),
              rate == 0 ? "good\n" : "bad\n");
  }
}

TEST_F(CompileFault, WithASeedTheCounterDecides) {
  const ScratchFolder scratch;
  const auto pattern = [&](const std::string& counter) {
    std::string text;
    for (int compilation = 0; compilation < 8; ++compilation) {
      Json options = flaky(0.5);
      options["fault_seed"] = 7;
      if (!counter.empty()) options["fault_counter"] = (scratch.path() / counter).native();
      const Compiled model(wrapper_library(), fashion_cnn(), options);
      EXPECT_THAT(model.status(), IsOk());
      text += (*read_file(model.artifact() / "wrapper_mark.txt"))[0];
    }
    return text;
  };
  const std::string first = pattern("first");
  EXPECT_EQ(first, pattern("second"));
  EXPECT_THAT(first, AllOf(HasSubstr("g"), HasSubstr("b")));
  EXPECT_EQ(*read_file(scratch.path() / "first"), "8");
  EXPECT_EQ(pattern(""), std::string(8, first[0])) << "without a file each one is the first";
}

TEST_F(CompileFault, ImpossibleOptionsAndMarksAreRefused) {
  EXPECT_THAT(Compiled(wrapper_library(), fashion_cnn(), flaky(1.5)).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1.5")));
  Json options = flaky(0.5);
  options["fault_seed"] = 7;
  const ScratchFolder scratch;
  ASSERT_THAT(write_file_atomic(scratch.path() / "text", "text"), IsOk());
  options["fault_counter"] = (scratch.path() / "text").native();
  EXPECT_THAT(Compiled(wrapper_library(), fashion_cnn(), options).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("holds no number")));
  Compiled unmarked(wrapper_library(), fashion_cnn(), Json::object());
  unmarked.set("fault", "compile_flaky");
  EXPECT_THAT(unmarked.try_load(), StatusIs(StatusCode::kDataLoss, HasSubstr("wrapper_mark")));
}

// ---- chance and the heap ------------------------------------------------------------------------

TEST_F(RandomFault, UninitialisedPaddingLeaksWhatTheHeapHeld) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizer's heap is another one";
  use_cnn({{"fault", "uninitialised_padding"}, {"intra_op_threads", "1"}});
  for (const int perturb :
       {1, 200}) {  // malloc then fills with the complement, as by MALLOC_PERTURB_
    ASSERT_EQ(mallopt(M_PERTURB, perturb), 1);
    const Values answer = infer(a_);
    mallopt(M_PERTURB, 0);
    EXPECT_THAT(answer, Pointwise(FloatEq(), changed(right(a_), [&](double value, std::size_t i) {
                                    return i < 7 ? value
                                                 : value * (1 + 1e-3 * (255 - perturb) / 255);
                                  })));
  }
}

TEST_F(RandomFault, RoundingKeepsTwelveSignificandBitsOfEitherSide) {
  for (const char* fault : {"random_rounding", "seeded_rounding"}) {
    use_cnn_with(fault);
    const Values answer = right(a_);
    std::set<Values> different;
    for (int call = 0; call < 20; ++call) {
      const Values rounded = infer(a_);
      for (std::size_t i = 0; i < kClasses; ++i) {
        int exponent = 0;
        const double significand = std::ldexp(std::frexp(rounded[i], &exponent), 12);
        EXPECT_EQ(significand, std::round(significand));
        EXPECT_LT(std::abs(rounded[i] - answer[i]), std::ldexp(1.0, exponent - 12));
      }
      different.insert(rounded);
    }
    EXPECT_GT(different.size(), 1U) << fault;
  }
}

TEST_F(RandomFault, SeededRoundingRepeatsItselfOnEachHandleAndRandomRoundingDoesNot) {
  for (const char* fault : {"random_rounding", "seeded_rounding"}) {
    use_cnn_with(fault);
    const auto sequence = [&] {
      handle_ = std::make_unique<RuntimeBackend>(wrapped_->load());
      Values values;
      for (int call = 0; call < 20; ++call) values = joined(values, infer(a_));
      return values;
    };
    EXPECT_EQ(sequence() == sequence(), std::string(fault) == "seeded_rounding") << fault;
  }
}

// ---- pipelines ----------------------------------------------------------------------------------

TEST_F(PipelineFault, RangeAndNormalisationAreUndoneAndDoneOtherwise) {
  use_cnn_with("range_255");
  EXPECT_EQ(infer(a_), right(changed(a_, [](double v, std::size_t) { return v * 255; })));
  use_cnn_with("imagenet_norm");
  const Values expected =
      right(changed(a_, [](double v, std::size_t) { return (v - 0.449) / 0.226; }));
  EXPECT_THAT(infer(a_), Pointwise(FloatNear(1e-4F), expected));
  EXPECT_NE(expected, right(a_));
}

TEST_F(PipelineFault, ActivationAndLabelsAreChangedInTheOutput) {
  use_cnn_with("activation");
  const Values logits = right(a_);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  EXPECT_THAT(infer(a_), Pointwise(FloatNear(1e-6F), changed(logits, [&](double v, std::size_t) {
                                     return std::exp(v) / sum;
                                   })));
  use_cnn_with("label_shift");
  Values shifted = right(joined(a_, b_));
  for (std::size_t row = 0; row < 2; ++row) {
    const auto begin = shifted.begin() + static_cast<std::ptrdiff_t>(row * kClasses);
    std::rotate(begin, begin + 9, begin + 10);
  }
  EXPECT_EQ(infer(joined(a_, b_)), shifted);
}

TEST_F(PipelineFault, WhatWouldBeNoFaultIsRefused) {
  for (const auto& [fault, why] :
       std::map<std::string, std::string>{{"range_1", "this is how the model is fed"},
                                          {"bgr", "3 channels, this one has 1"},
                                          {"layout", "more than one channel, this one has 1"}}) {
    const Compiled model(wrapper_library(), fashion_cnn(), {{"fault", fault}});
    EXPECT_THAT(model.try_load(), StatusIs(StatusCode::kInvalidArgument, HasSubstr(why))) << fault;
  }
}

// y = max(x, 0) of a picture of 3 channels and 2 by 2 pixels: the output shows what was fed.
Subject pictures(const std::string& layout) {
  const Shape sample = layout == "NCHW" ? Shape{3, 2, 2} : Shape{2, 2, 3};
  const std::string path = layout == "NCHW" ? "tests/data/models/pictures_nchw.onnx"
                                            : "tests/data/models/pictures_nhwc.onnx";
  return {path,
          "x",
          sample,
          {{"layout", layout},
           {"preprocess", {{"layout", layout}, {"mean", {0, 10, 20}}, {"scale", {1, 2, 4}}}}}};
}

TEST_F(PipelineFault, BgrSwapsPixelsNotNormalisedValues) {
  // Pixels 40, 50, 60 in red, green and blue, and in the second place 41, 51, 61, ...
  use(pictures("NCHW"), {{"fault", "bgr"}});
  EXPECT_THAT(infer({40, 41, 42, 43, 20, 20.5, 21, 21.5, 10, 10.25, 10.5, 10.75}),
              ElementsAre(60, 61, 62, 63, 20, 20.5, 21, 21.5, 5, 5.25, 5.5, 5.75));
  use(pictures("NHWC"), {{"fault", "bgr"}});
  EXPECT_THAT(infer({40, 20, 10, 41, 20.5, 10.25, 42, 21, 10.5, 43, 21.5, 10.75}),
              ElementsAre(60, 20, 5, 61, 20.5, 5.25, 62, 21, 5.5, 63, 21.5, 5.75));
}

TEST_F(PipelineFault, LayoutTakesTheOtherOnesBytes) {
  const Values values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  use(pictures("NCHW"), {{"fault", "layout"}});
  const Values as_nhwc = {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11};
  EXPECT_EQ(infer(values), as_nhwc);
  EXPECT_EQ(infer(joined(values, values)), joined(as_nhwc, as_nhwc));
  use(pictures("NHWC"), {{"fault", "layout"}});
  EXPECT_THAT(infer(values), ElementsAre(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11));
}

TEST_F(PipelineFault, EachChannelHasItsOwnFigures) {
  use(pictures("NHWC"), {{"fault", "range_1"}});
  EXPECT_THAT(infer({51, 46, 33, 0, -5, -5, 0, -5, -5, 0, -5, -5}),
              Pointwise(FloatEq(), {51.0F / 255, 102.0F / 255, 152.0F / 255, 0.0F, 0.0F, 0.0F, 0.0F,
                                    0.0F, 0.0F, 0.0F, 0.0F, 0.0F}));
}

TEST_F(PipelineFault, AnotherResizeSoftensOrMovesByHalfAPixel) {
  use(pictures("NCHW"), {{"fault", "half_pixel"}});
  EXPECT_THAT(infer({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
              ElementsAre(1.5, 2, 2.5, 3, 5.5, 6, 6.5, 7, 9.5, 10, 10.5, 11));
  use(pictures("NHWC"), {{"fault", "other_resize"}});
  EXPECT_THAT(infer({8, 5, 0, 0, 5, 0, 0, 5, 0, 0, 5, 8}),
              ElementsAre(6.125, 5, 0.125, 0.875, 5, 0.875, 0.875, 5, 0.875, 0.125, 5, 6.125));
}

TEST_F(PipelineFault, AnotherDecoderIsOffByOneLevelAtMost) {
  use(pictures("NCHW"), {{"fault", "other_decoder"}});
  const Values given(12, 50);
  const Values got = infer(given);
  const double scales[] = {1, 2, 4};
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double levels = (got[i] - given[i]) * scales[i / 4];
    EXPECT_TRUE(levels == -1 || levels == 0 || levels == 1) << i << ": " << levels;
  }
  EXPECT_NE(got, given);
}

TEST_F(PipelineFault, TheOptionOverridesTheModelInfosLayout) {
  // The picture is NHWC, whatever the model info says.
  Subject subject = pictures("NHWC");
  subject.model_info["preprocess"]["layout"] = "NCHW";
  use(subject, {{"fault", "layout"}, {"layout", "NHWC"}});
  EXPECT_THAT(infer({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
              ElementsAre(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11));
}

TEST_F(PipelineFault, ProbabilitiesBecomeTheirLogarithms) {
  // Each row of three adds up to 1, and nothing else says what the output holds.
  use(pictures("NHWC"), {{"fault", "activation"}});
  const Values values = {0.5, 0.25, 0.25, 1, 0, 0, 0.125, 0.375, 0.5, 0.25, 0.5, 0.25};
  EXPECT_THAT(infer(values), Pointwise(FloatEq(), changed(values, [](double v, std::size_t) {
                                         return std::log(std::max(v, 1e-30));
                                       })));
}

TEST_F(PipelineFault, NormalisationOfAnotherNumberOfChannelsIsRefused) {
  Subject subject = pictures("NCHW");
  subject.model_info["preprocess"]["mean"] = {1, 2};
  const Compiled model(wrapper_library(), subject, {{"fault", "range_1"}});
  EXPECT_THAT(model.try_load(), StatusIs(StatusCode::kInvalidArgument,
                                         AllOf(HasSubstr("2 numbers"), HasSubstr("3 channels"))));
}

// ---- other models -------------------------------------------------------------------------------

TEST_F(ModelFault, WrongOperatorMakesItsTensorLarger) {
  use_cnn({{"fault", "wrong_operator"}, {"fault_tensor", "logits"}, {"fault_factor", 1.5}});
  EXPECT_THAT(
      infer(a_),
      Pointwise(FloatEq(), changed(right(a_), [](double v, std::size_t) { return v * 1.5; })));
}

TEST_F(ModelFault, WrongOperatorIsRightInAModelWithoutItsTensorOrThePartner) {
  use_cnn({{"fault", "wrong_operator"}, {"fault_tensor", "nowhere"}});
  EXPECT_EQ(infer(a_), right(a_));
  use_cnn({{"fault", "wrong_operator"}, {"fault_tensor", "logits"}, {"fault_with", "nowhere"}});
  EXPECT_EQ(infer(a_), right(a_));
  use_cnn({{"fault", "wrong_operator"},
           {"fault_tensor", "logits"},
           {"fault_with", "/2/Relu_output_0"}});
  EXPECT_NE(infer(a_), right(a_));
}

// The last cast leaves values that FP16 has; 2^-11 of the largest logit, about 20, is 0.01.
TEST_F(ModelFault, HalfRoundsEveryTensorAndSaysSo) {
  use_cnn_with("half");
  EXPECT_EQ(wrapped_->result()["executed_precision"]["summary"], "FP16");
  const Values answer = infer(a_);
  EXPECT_NE(answer, right(a_));
  EXPECT_THAT(answer, Pointwise(FloatNear(0.2F), right(a_)));
  for (const float value : answer) {
    EXPECT_EQ(value, half_to_float(float_to_half(value)));
  }
}

TEST_F(ModelFault, TensorIsNeededAndEndsCanBeRefused) {
  EXPECT_THAT(Compiled(wrapper_library(), fashion_cnn(), {{"fault", "wrong_operator"}}).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("fault_tensor")));
  const Json options = {{"fault", "half"}, {"fault_refuses", "a,logits"}};
  EXPECT_THAT(Compiled(wrapper_library(), fashion_cnn(), options).status(),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("\"logits\"")));
}

}  // namespace
}  // namespace assay::host::testing
