#include "host/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "assay/backend.hpp"
#include "base/testing.h"
#include "host/host_test_support.h"

namespace assay::host {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using host::testing::KeepingSink;
using host::testing::tensor_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string>& closed() {
  static std::vector<std::string> names;
  return names;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

class NoCompiler : public backend::CompileBackend {
 public:
  std::string hardware_type() override { return "STEP"; }
  std::string compile(const backend::Document&, backend::DataLoader&,
                      backend::CompileJob&) override {
    return "{}";
  }
};

// FLOAT32 [?,2]: every output is `scale` times the sum of all inputs, plus its own position.
class Step : public backend::RuntimeBackend {
 public:
  std::string version() override { return "step " + out_.front(); }
  void load(const backend::LoadRequest& request) override {
    const backend::Document& about = request.compile_result;
    in_ = split(about.text("in"));
    out_ = split(about.text("out"));
    scale_ = static_cast<float>(about.number("scale", 1));
    batch_ = about.integer("batch", request.batch_size);
    fails_ = about.flag("fails", false);
    dtype_ = about.flag("double", false) ? backend::DType::kFloat64 : backend::DType::kFloat32;
  }
  backend::Signature signature() override {
    backend::Signature signature;
    for (const std::string& name : in_) signature.inputs.push_back({name, dtype_, {-1, 2}});
    for (const std::string& name : out_) {
      signature.outputs.push_back({name, backend::DType::kFloat32, {-1, 2}});
    }
    return signature;
  }
  void predict(const backend::Inputs& inputs, backend::Outputs& outputs) override {
    if (fails_) throw backend::Error(ASSAY_DATA_LOSS, "the step is broken");
    const std::int64_t rows = inputs[0].dim(0);
    for (std::size_t k = 0; k < out_.size(); ++k) {
      auto* y = outputs.allocate<float>(k, {rows, 2});
      for (std::int64_t i = 0; i < rows * 2; ++i) y[i] = scale_ * sum(inputs, i) + float(k);
    }
  }
  std::optional<std::int64_t> get_loaded_batch_size() override { return batch_; }
  backend::ThreadRule thread_rule() override { return backend::ThreadRule::kAny; }
  void close() override { closed().push_back(out_.front()); }

 private:
  float sum(const backend::Inputs& inputs, std::int64_t i) const {
    double total = 0;
    for (std::size_t n = 0; n < inputs.size(); ++n) {
      total += dtype_ == backend::DType::kFloat64 ? inputs[n].data<double>()[i]
                                                  : inputs[n].data<float>()[i];
    }
    return static_cast<float>(total);
  }

  std::vector<std::string> in_, out_{"none"};
  float scale_ = 1;
  std::int64_t batch_ = 1;
  bool fails_ = false;
  backend::DType dtype_ = backend::DType::kFloat32;
};

StageRequest step(std::int64_t segment, const std::string& about, bool is_fallback = false) {
  StageRequest stage{
      segment,
      is_fallback,
      Library::from_entry(&backend::detail::Plugin<NoCompiler, Step>::enter, "step").value(),
      {}};
  stage.load.compile_result = about;
  stage.load.batch_size = 4;
  return stage;
}

std::vector<StageRequest> two_steps() {
  return {step(0, R"({"in": "x", "out": "a", "scale": 10})"),
          step(1, R"({"in": "a,x", "out": "y,z"})", true)};
}

Status infer(Pipeline& pipeline, const std::vector<float>& values, KeepingSink& sink) {
  const Tensor x = tensor_of<float>("x", DType::kFloat32,
                                    {static_cast<std::int64_t>(values.size()) / 2, 2}, values);
  const TensorView view = x.view();
  return pipeline.infer({&view, 1}, sink);
}

TEST(Pipeline, HandsTensorsOnByName) {
  const auto pipeline = Pipeline::load(two_steps(), {"x"}, {"z", "y"});
  ASSERT_THAT(pipeline, IsOk());
  EXPECT_EQ((*pipeline)->loaded_batch_size(), 4);
  EXPECT_THAT((*pipeline)->signature().inputs,
              ElementsAre(TensorSpec{"x", DType::kFloat32, {-1, 2}}));
  ASSERT_EQ((*pipeline)->signature().outputs.size(), 2U);
  EXPECT_EQ((*pipeline)->signature().outputs[0].name, "z") << "in the model's order";
  for (int repeat = 0; repeat < 2; ++repeat) {
    KeepingSink sink;
    ASSERT_THAT(infer(**pipeline, {1, 2, 3, 4}, sink), IsOk());
    // a = 10 x, y = a + x, z = y + 1.
    EXPECT_THAT(sink.outputs[1].values<float>(), ElementsAre(11, 22, 33, 44));
    EXPECT_THAT(sink.outputs[0].values<float>(), ElementsAre(12, 23, 34, 45));
    EXPECT_EQ(sink.outputs[0].shape, (Shape{2, 2}));
  }
}

TEST(Pipeline, AnotherBatchFindsRoom) {
  const auto pipeline = Pipeline::load(two_steps(), {"x"}, {"y"}).value();
  for (const std::vector<float>& values :
       {std::vector<float>{1, 2}, std::vector<float>{1, 2, 3, 4}, std::vector<float>{5, 6}}) {
    KeepingSink sink;
    ASSERT_THAT(infer(*pipeline, values, sink), IsOk());
    ASSERT_EQ(sink.outputs[0].values<float>().size(), values.size());
    EXPECT_EQ(sink.outputs[0].values<float>().back(), 11 * values.back());
  }
}

TEST(Pipeline, AnOutputOfTheModelMayGoOn) {
  const auto pipeline = Pipeline::load(two_steps(), {"x"}, {"a", "y"}).value();
  KeepingSink sink;
  ASSERT_THAT(infer(*pipeline, {1, 2}, sink), IsOk());
  EXPECT_THAT(sink.outputs[0].values<float>(), ElementsAre(10, 20));
  EXPECT_THAT(sink.outputs[1].values<float>(), ElementsAre(11, 22));
}

TEST(Pipeline, ADtypeThatLosesNothingIsConverted) {
  const auto pipeline =
      Pipeline::load({step(0, R"({"in": "x", "out": "a", "scale": 2})"),
                      step(1, R"({"in": "a", "out": "y", "scale": 3, "double": true})")},
                     {"x"}, {"y"});
  ASSERT_THAT(pipeline, IsOk());
  KeepingSink sink;
  ASSERT_THAT(infer(**pipeline, {1, 2}, sink), IsOk());
  EXPECT_THAT(sink.outputs[0].values<float>(), ElementsAre(6, 12));
}

TEST(Pipeline, CountsWhatEachSegmentDid) {
  const auto pipeline = Pipeline::load(two_steps(), {"x"}, {"y"}).value();
  KeepingSink sink;
  for (int i = 0; i < 3; ++i) ASSERT_THAT(infer(*pipeline, {1, 2}, sink), IsOk());
  const std::vector<StageUse> used = pipeline->use();
  ASSERT_EQ(used.size(), 2U);
  EXPECT_EQ(used[0].segment, 0);
  EXPECT_FALSE(used[0].is_fallback);
  EXPECT_EQ(used[0].version, "step a");
  EXPECT_EQ(used[0].calls, 3U);
  EXPECT_TRUE(used[1].is_fallback);
  EXPECT_EQ(used[1].calls, 3U);
  EXPECT_GT(used[1].wall_ns, 0);
}

TEST(Pipeline, CallsAtOnceDoNotShareBuffers) {
  const auto pipeline = Pipeline::load(two_steps(), {"x"}, {"y"}).value();
  ASSERT_EQ(pipeline->thread_rule(), ThreadRule::kAny);
  std::vector<std::thread> callers;
  for (int caller = 1; caller <= 4; ++caller) {
    callers.emplace_back([&, caller] {
      const auto value = static_cast<float>(caller);
      for (int i = 0; i < 200; ++i) {
        KeepingSink sink;
        ASSERT_THAT(infer(*pipeline, {value, -value}, sink), IsOk());
        ASSERT_THAT(sink.outputs[0].values<float>(), ElementsAre(11 * value, -11 * value));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(pipeline->use()[0].calls, 800U);
}

TEST(Pipeline, AFailureNamesItsSegment) {
  auto stages = two_steps();
  stages[1].load.compile_result = R"({"in": "a", "out": "y", "fails": true})";
  const auto pipeline = Pipeline::load(std::move(stages), {"x"}, {"y"}).value();
  KeepingSink sink;
  EXPECT_THAT(infer(*pipeline, {1, 2}, sink),
              StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr("segment 1 (fallback on step)"),
                                                    HasSubstr("the step is broken"))));
  EXPECT_EQ(pipeline->use()[0].calls, 1U);
  EXPECT_EQ(pipeline->use()[1].calls, 0U) << "a call that failed is none";
}

TEST(Pipeline, WhatDoesNotFitTogetherIsRefusedWithBothSides) {
  const auto load = [](const std::string& first, const std::string& second,
                       const std::vector<std::string>& outputs = {"y"}) {
    return Pipeline::load({step(0, first), step(1, second)}, {"x"}, outputs).status();
  };
  EXPECT_THAT(load(R"({"in": "x", "out": "a"})", R"({"in": "b", "out": "y"})"),
              StatusIs(StatusCode::kInternal,
                       AllOf(HasSubstr("segment 1 takes \"b\": FLOAT32 [?,2]"),
                             HasSubstr("which neither the model nor a segment before it gives"))));
  EXPECT_THAT(load(R"({"in": "x", "out": "a"})", R"({"in": "a", "out": "a"})"),
              StatusIs(StatusCode::kInternal, HasSubstr("segment 1 gives \"a\", which is there")));
  EXPECT_THAT(load(R"({"in": "x", "out": "a"})", R"({"in": "a", "out": "y"})", {"y", "q"}),
              StatusIs(StatusCode::kInternal, HasSubstr("the model's output \"q\"")));
  EXPECT_THAT(
      load(R"({"in": "x", "out": "a"})", R"({"in": "a", "out": "y", "batch": 8})"),
      StatusIs(StatusCode::kInternal, HasSubstr("segment 0 has loaded batches of 4, segment "
                                                "1 batches of 8")));
  EXPECT_THAT(Pipeline::load({}, {"x"}, {"y"}), StatusIs(StatusCode::kInvalidArgument,
                                                         "a pipeline "
                                                         "of no "
                                                         "segments"));
}

TEST(Pipeline, ClosesTheLastSegmentFirst) {
  closed().clear();
  const auto pipeline = Pipeline::load(two_steps(), {"x"}, {"y"}).value();
  EXPECT_THAT(pipeline->close(), IsOk());
  EXPECT_THAT(closed(), ElementsAre("y", "a"));
}

}  // namespace
}  // namespace assay::host
