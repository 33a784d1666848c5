// The parts of the model of the chip: options, lowering, plan, artifact.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "artifact.h"
#include "base/testing.h"
#include "ipu_conv.h"
#include "ipu_matmul.h"
#include "lower.h"
#include "options.h"
#include "plan.h"
#include "sha256.h"

namespace graphcore {
namespace {

using assay::backend::Error;
using assay::testing::ScratchFolder;
using onnx::TensorProto;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

Options options_of(const std::map<std::string, std::string>& texts) {
  return options_from_texts([&](const std::string& name) -> std::optional<std::string> {
    const auto found = texts.find(name);
    return found != texts.end() ? std::optional(found->second) : std::nullopt;
  });
}

std::map<std::string, OptionRow> rows_of(const Options& options) {
  std::map<std::string, OptionRow> rows;
  for (const OptionRow& row : option_rows(options)) rows[row.name] = row;
  return rows;
}

TEST(GraphcoreOptions, SamplesOfACallAreBatchTimesStepsTimesReplicas) {
  EXPECT_EQ(samples_per_call(4, 1, 1), 4);
  EXPECT_EQ(samples_per_call(4, 3, 1), 12);
  EXPECT_EQ(samples_per_call(4, 3, 2), 24);
}

TEST(GraphcoreOptions, AWrongValueIsRefusedWithWhatIsAccepted) {
  const auto why = [](const char* name, const char* value) {
    return refusal([&] { options_of({{name, value}}); });
  };
  EXPECT_EQ(why("precision", "int8"), "option precision: found \"int8\", accepted: fp16, fp32");
  EXPECT_THAT(why("batches_per_step", "0"), HasSubstr("accepted: a number from 1"));
  EXPECT_THAT(why("available_memory_proportion", "1.5"), HasSubstr("above 0, at most 1"));
  EXPECT_THAT(why("ipu_version", "mk9"), HasSubstr("gc200, bow, c600"));
  EXPECT_THAT(why("io_tiles", "1472"), HasSubstr("fewer than the 1472 tiles"));
  EXPECT_THAT(why("seed", "-1"), HasSubstr("random, or a number"));
  EXPECT_THAT(why("popart_options", "enableFoo"), HasSubstr("name=value"));
}

TEST(GraphcoreOptions, PartialsOfMatmulsGoByTheirOwnOptionWhenItIsSet) {
  const Options unset = options_of({{"precision", "fp16"}, {"partials_type", "half"}});
  EXPECT_TRUE(unset.half_partials());
  EXPECT_TRUE(unset.half_partials_matmul());
  const Options own = options_of(
      {{"precision", "fp16"}, {"partials_type", "half"}, {"partialsTypeMatMuls", "float"}});
  EXPECT_TRUE(own.half_partials());
  EXPECT_FALSE(own.half_partials_matmul());
}

TEST(GraphcoreOptions, EachIsShownAsAskedForAndAsUsed) {
  auto rows = rows_of(options_of({{"precision", "fp32"},
                                  {"partials_type", "half"},
                                  {"stochastic_rounding", "true"},
                                  {"popart_options", "enableOutlining=false"}}));
  EXPECT_EQ(rows["partials_type"].requested, "half");
  EXPECT_EQ(rows["partials_type"].effective, "float");
  EXPECT_EQ(rows["stochastic_rounding"].requested, "true");
  EXPECT_EQ(rows["stochastic_rounding"].effective, "false");
  EXPECT_EQ(rows["seed"].effective, "unused");
  EXPECT_EQ(rows["enableOutlining"].requested, "false");
  EXPECT_EQ(rows["enableOutlining"].effective, "passed through");
}

// ---- lowering -----------------------------------------------------------------------------------

void add_input(onnx::ModelProto& model, const std::string& name) {
  model.mutable_graph()->add_input()->set_name(name);
}

onnx::NodeProto& add_node(onnx::ModelProto& model, const std::string& op,
                          const std::vector<std::string>& inputs, const std::string& output) {
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

void add_weight(onnx::ModelProto& model, const std::string& name, std::vector<std::int64_t> dims,
                const std::vector<float>& values) {
  auto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_data_type(TensorProto::FLOAT);
  for (const float value : values) tensor.add_float_data(value);
}

// x [1, 2] times w [2, 2], its exponential, its square: y.
onnx::ModelProto small_model() {
  onnx::ModelProto model;
  add_input(model, "x");
  add_weight(model, "w", {2, 2}, {1.0F, 70000.0F, 0.1F, 0.0F});
  add_node(model, "MatMul", {"x", "w"}, "h");
  add_node(model, "Exp", {"h"}, "e");
  add_node(model, "Sqrt", {"e"}, "y");
  model.mutable_graph()->add_output()->set_name("y");
  return model;
}

TensorFacts small_facts() {
  TensorFacts facts;
  for (const char* name : {"x", "h", "e", "y"}) facts[name] = {TensorProto::FLOAT, {1, 2}};
  facts["w"] = {TensorProto::FLOAT, {2, 2}};
  return facts;
}

std::vector<std::string> operators_of(const Lowered& lowered) {
  std::vector<std::string> operators;
  for (const auto& node : lowered.model.graph().node()) operators.push_back(node.op_type());
  return operators;
}

TEST(GraphcoreLowering, Fp16RoundsInputsAndResultsButWhatStaysFp32) {
  const Lowered lowered = lower(small_model(), small_facts(), options_of({{"precision", "fp16"}}));
  EXPECT_THAT(operators_of(lowered),
              ElementsAre("RoundHalf", "IpuMatMul", "Exp", "RoundHalf", "Sqrt"));
  EXPECT_EQ(lowered.types.at("e"), TensorProto::FLOAT16);
  EXPECT_EQ(lowered.types.at("y"), TensorProto::FLOAT);
  EXPECT_THAT(lowered.notes, ::testing::Contains("Sqrt: stays fp32"));
}

TEST(GraphcoreLowering, Fp32RoundsNothing) {
  const Lowered lowered = lower(small_model(), small_facts(), options_of({{"precision", "fp32"}}));
  EXPECT_THAT(operators_of(lowered), ElementsAre("IpuMatMul", "Exp", "Sqrt"));
  EXPECT_EQ(lowered.types.at("w"), TensorProto::FLOAT);
}

TEST(GraphcoreLowering, WeightsAreRoundedAndWhatDoesNotFitIsCounted) {
  const Lowered lowered = lower(small_model(), small_facts(), options_of({{"precision", "fp16"}}));
  // 0.1 is 1638.4 units of 2^-14: 1638 of them are 0.0999755859375.
  EXPECT_THAT(float_values(lowered.model.graph().initializer(0)),
              ElementsAre(1.0F, 65504.0F, 0.0999755859375F, 0.0F));
  EXPECT_EQ(lowered.saturated_weights, 1U);
}

TEST(GraphcoreLowering, TheAnchorsSayTheOneAdaptation) {
  const Lowered lowered = lower(small_model(), small_facts(), options_of({{"precision", "fp16"}}));
  ASSERT_EQ(lowered.anchors.size(), 2U);
  EXPECT_EQ(lowered.anchors[0].handle, "h2d_0");
  EXPECT_EQ(lowered.anchors[0].adaptation, "FLOAT32 to FLOAT16, once, on entry");
  EXPECT_EQ(lowered.anchors[1].handle, "d2h_0");
  EXPECT_EQ(lowered.anchors[1].adaptation, "");  // stays fp32
}

TEST(GraphcoreLowering, AnInt64ThatInt32CannotHoldIsRefusedByNameAndValue) {
  onnx::ModelProto model = small_model();
  auto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name("ids");
  tensor.add_dims(1);
  tensor.set_data_type(TensorProto::INT64);
  tensor.add_int64_data(std::int64_t{1} << 31);
  const std::string why = refusal([&] { lower(model, small_facts(), options_of({})); });
  EXPECT_THAT(why, AllOf(HasSubstr("\"ids\""), HasSubstr("2147483648")));
  // "To the end" of a slice is no number of the model's.
  model.mutable_graph()->mutable_initializer(1)->set_int64_data(
      0, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(refusal([&] { lower(model, small_facts(), options_of({})); }), "");
}

TEST(GraphcoreLowering, EightBitArithmeticIsRefusedByOperator) {
  onnx::ModelProto model = small_model();
  add_node(model, "QuantizeLinear", {"y"}, "q").set_name("quantise");
  EXPECT_THAT(refusal([&] { check_lowerable(model); }),
              AllOf(HasSubstr("QuantizeLinear \"quantise\""), HasSubstr("8 bits")));
}

// ---- products -----------------------------------------------------------------------------------

TEST(GraphcoreProducts, LeadingDimensionsBroadcast) {
  const MatMulPlan tall = plan_matmul({5, 3, 4}, {4, 2}, false, false);
  EXPECT_THAT(tall.out_shape, ElementsAre(5, 3, 2));
  EXPECT_EQ(tall.shape.m, 15U);
  EXPECT_EQ(tall.shape.batch, 1U);
  const MatMulPlan pairs = plan_matmul({2, 1, 3, 4}, {3, 4, 2}, false, false);
  EXPECT_THAT(pairs.out_shape, ElementsAre(2, 3, 3, 2));
  EXPECT_THAT(pairs.pairs,
              ElementsAre(Pair(0, 0), Pair(0, 1), Pair(0, 2), Pair(1, 0), Pair(1, 1), Pair(1, 2)));
  EXPECT_THAT(refusal([] { plan_matmul({2, 3}, {4, 2}, false, false); }),
              HasSubstr("[2, 3] and [4, 2]"));
}

TEST(GraphcoreProducts, SamePadsPutTheOddZeroWhereTheyAreNamedFor) {
  ConvAttributes attributes;
  attributes.strides = {2, 2};
  attributes.auto_pad = 1;  // 4 wide, kernel 3, stride 2: two outputs need 5
  arith::Conv2dShape shape = conv_shape(attributes, {1, 1, 4, 4}, {1, 1, 3, 3});
  EXPECT_EQ(shape.pad_top, 0U);
  EXPECT_EQ(shape.pad_bottom, 1U);
  attributes.auto_pad = 2;
  shape = conv_shape(attributes, {1, 1, 4, 4}, {1, 1, 3, 3});
  EXPECT_EQ(shape.pad_top, 1U);
  EXPECT_EQ(shape.pad_bottom, 0U);
}

// ---- plan ---------------------------------------------------------------------------------------

// y = x [B, 1472] times w [1472, 1472], in fp16.
struct Square {
  Square() {
    add_input(model, "x");
    add_weight(model, "w", {1472, 1472}, {});
    add_node(model, "MatMul", {"x", "w"}, "y");
    model.mutable_graph()->add_output()->set_name("y");
    one = {{"x", {TensorProto::FLOAT, {1, 1472}}},
           {"w", {TensorProto::FLOAT, {1472, 1472}}},
           {"y", {TensorProto::FLOAT, {1, 1472}}}};
    two = one;
    two["x"].shape[0] = two["y"].shape[0] = 2;
    for (const char* name : {"x", "w", "y"}) types[name] = TensorProto::FLOAT16;
  }
  Plan at(std::int64_t batch, const Options& options) const {
    return plan_model({&model, &types, &one, &two}, options, batch);
  }

  onnx::ModelProto model;
  TensorFacts one;
  TensorFacts two;
  std::map<std::string, int> types;
};

TEST(GraphcorePlan, CyclesAndBytesOfOneProductByHand) {
  const Square square;
  const Options options = options_of({{"precision", "fp16"}});
  const Plan plan = square.at(1, options);
  ASSERT_EQ(plan.operators.size(), 1U);
  const OperatorPlan& op = plan.operators[0];
  EXPECT_EQ(op.macs, 1472 * 1472);
  // 1024 columns of blocks: two results of 1472 products a tile, 64 a cycle.
  EXPECT_EQ(op.compute_cycles, 2 * 1472 / 64);
  // A row of x and two columns of w, 2 bytes a value, 4 bytes a cycle.
  EXPECT_EQ(op.exchange_bytes, 3 * 1472 * 2);
  EXPECT_EQ(op.exchange_cycles, 3 * 1472 * 2 / 4);
  EXPECT_EQ(plan.weight_bytes, 1472 * 2);
  EXPECT_EQ(op.live_bytes, 4);  // x and y: a value of each
  EXPECT_EQ(plan.bytes_at(op), 1472 * 2 + 4096 + 256 + 4 + 3 * 1472 * 2);
}

TEST(GraphcorePlan, AnOverflowNamesTheOperatorAndByHowMuch) {
  const Square square;
  const Options options = options_of({{"precision", "fp16"}});
  EXPECT_EQ(refusal([&] { check_fits(square.at(1000, options), options); }), "");
  const Plan plan = square.at(400000, options);
  const std::int64_t over = plan.bytes_at(plan.operators[0]) - std::int64_t{624} * 1024;
  ASSERT_GT(over, 0);
  EXPECT_THAT(refusal([&] { check_fits(plan, options); }),
              AllOf(HasSubstr("operator MatMul, tensor \"y\""),
                    HasSubstr(std::to_string(over) + " more than the 638976")));
}

TEST(GraphcorePlan, IoTilesAreTakenFromThoseThatComputeAndChipsAdd) {
  const Square square;
  EXPECT_EQ(square.at(1, options_of({{"io_tiles", "32"}})).tiles, 1440);
  EXPECT_EQ(square.at(1, options_of({{"num_ipus", "2"}})).tiles, 2944);
}

TEST(GraphcorePlan, LessMemoryForTemporariesTakesMorePasses) {
  const Square square;
  const Plan plan =
      square.at(64, options_of({{"precision", "fp16"}, {"available_memory_proportion", "0.01"}}));
  EXPECT_GT(plan.operators[0].passes, 1);
  EXPECT_LE(plan.operators[0].exchange_bytes, 6390);
}

// ---- artifact -----------------------------------------------------------------------------------

TEST(GraphcoreArtifact, HashIsThatOfTheStandard) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

std::map<std::string, std::string> small_parts() {
  const Options options = options_of({{"precision", "fp16"}});
  auto parts = parts_of(lower(small_model(), small_facts(), options), options, "{}");
  parts["plan"] = "[]";
  return parts;
}

TEST(GraphcoreArtifact, WhatIsReadIsWhatWasWritten) {
  const ScratchFolder folder;
  write_parts(folder.path().string(), small_parts(), "key");
  Index index;
  const Artifact artifact = artifact_of(read_parts(folder.path().string(), index));
  EXPECT_EQ(index.cache_key, "key");
  EXPECT_EQ(artifact.options.precision, "fp16");
  ASSERT_EQ(artifact.anchors.size(), 2U);
  EXPECT_EQ(artifact.anchors[1].name, "y");
  EXPECT_THAT(float_values(artifact.model.graph().initializer(0)),
              ElementsAre(1.0F, 65504.0F, 0.0999755859375F, 0.0F));
}

TEST(GraphcoreArtifact, WeightsLieInTheChipsType) {
  EXPECT_EQ(small_parts().at("weights"), std::string("\x00\x3c\xff\x7b\x66\x2e\x00\x00", 8));
}

TEST(GraphcoreArtifact, APartThatWasCutOrChangedIsRefusedByNameWithBothHashes) {
  for (const auto& [type, bytes] : small_parts()) {
    const ScratchFolder folder;
    write_parts(folder.path().string(), small_parts(), "");
    Index index;
    read_parts(folder.path().string(), index);
    std::string file;
    for (const Part& part : index.parts) {
      if (part.type == type) file = part.file;
    }
    for (const std::string& wrong : {bytes.substr(1), std::string("x") + bytes.substr(1)}) {
      std::ofstream(folder.path() / file, std::ios::binary | std::ios::trunc) << wrong;
      EXPECT_THAT(
          refusal([&] { read_parts(folder.path().string(), index); }),
          AllOf(HasSubstr("part " + type), HasSubstr(sha256(wrong)), HasSubstr(sha256(bytes))));
    }
  }
}

TEST(GraphcoreArtifact, AnIndexThatIsNotOneIsRefused) {
  const auto why = [](const std::string& text) { return refusal([&] { parse_index(text); }); };
  EXPECT_THAT(why("{"), HasSubstr("artifact.json"));
  EXPECT_THAT(why(R"({"format": "popef"})"), HasSubstr("format is not"));
  EXPECT_THAT(why(R"({"format": "assay-ipu-model-artifact", "version": 99})"),
              HasSubstr("found version 99"));
  EXPECT_THAT(why(R"({"format": "assay-ipu-model-artifact", "version": 1, "cache_key": "",
                      "parts": []})"),
              HasSubstr("\"anchors\" is missing"));
}

}  // namespace
}  // namespace graphcore
