#include "workload/signature.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing.h"

namespace assay::workload {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;

ModelFile model_of(std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs = {}) {
  ModelFile model;
  model.path = "/m/my.onnx";
  model.format = "onnx";
  model.signature = {std::move(inputs), std::move(outputs)};
  return model;
}

const TensorSpec kOutput = {"logits", DType::kFloat32, {-1, 10}};

// A file of Assay's own form ("weights") for one input.
ModelInfo info_of(const std::string& shape, const std::string& type = "FLOAT32",
                  const std::string& name = "input", const std::string& outputs = "logits") {
  const std::string text =
      "{\"name\": \"net\", \"model_path\": \"p\", \"framework\": \"Onnx\", \"model_format\": "
      "\"onnx\",\n\"weights\": \"trained\",\n\"inputs\": \"" +
      name + "\",\n\"outputs\": \"" + outputs + "\",\n\"input_shape\": {\"" + name +
      "\": " + shape + "},\n\"input_type\": \"" + type + "\"}";
  const auto file = JsonFile::parse(text, "net.json");
  EXPECT_THAT(file, IsOk());
  auto info = parse_model_info(*file, {"/zoo", ""});
  EXPECT_THAT(info, IsOk());
  return std::move(info).value();
}

std::string error_of(ModelInfo info, const ModelFile& model) {
  return check_against_signature(info, model).message();
}

TEST(Signature, AgreesWhereTheModelLeavesTheBatchFree) {
  ModelInfo info = info_of("[1, 1, 28, 28]");
  const ModelFile model = model_of({{"input", DType::kFloat32, {-1, 1, 28, 28}}}, {kOutput});
  EXPECT_THAT(check_against_signature(info, model), IsOk());
  EXPECT_EQ(fixed_batch(info, model.signature), std::nullopt);
}

TEST(Signature, FillsInWhatOnlyTheModelFixes) {
  ModelInfo info = info_of("[-1, -1, 28, 28]");
  const ModelFile model = model_of({{"input", DType::kFloat32, {-1, 1, 28, 28}}}, {kOutput});
  EXPECT_THAT(check_against_signature(info, model), IsOk());
  EXPECT_EQ(info.inputs[0].shape, (Shape{1, 1, 28, 28}));
}

TEST(Signature, KnowsTheBatchThatAModelFixes) {
  ModelInfo info = info_of("[2, 8]");
  const ModelFile model = model_of({{"input", DType::kFloat32, {6, 8}}}, {kOutput});
  EXPECT_THAT(check_against_signature(info, model), IsOk());
  EXPECT_THAT(fixed_batch(info, model.signature), Optional(3));
}

TEST(Signature, RefusesAnotherDtypeNamingBothSides) {
  EXPECT_EQ(
      error_of(info_of("[1, 8]"), model_of({{"input", DType::kInt64, {-1, 8}}}, {kOutput})),
      "net.json:6:15: \"input_type\": input \"input\": model info says FLOAT32 [1,8], the model "
      "wants INT64 [?,8]: another dtype");
}

TEST(Signature, RefusesAnotherRank) {
  EXPECT_EQ(
      error_of(info_of("[1, 8]"), model_of({{"input", DType::kFloat32, {-1, 1, 8}}}, {kOutput})),
      "net.json:5:26: \"input_shape.input\": input \"input\": model info says FLOAT32 [1,8], "
      "the model wants FLOAT32 [?,1,8]: rank 2 against 3");
}

TEST(Signature, RefusesAnotherDimension) {
  EXPECT_EQ(error_of(info_of("[1, 1, 28, 32]"),
                     model_of({{"input", DType::kFloat32, {-1, 1, 28, 28}}}, {kOutput})),
            "net.json:5:26: \"input_shape.input\": input \"input\": model info says FLOAT32 "
            "[1,1,28,32], the model wants FLOAT32 [?,1,28,28]: dimension 3 is 32 against 28");
}

TEST(Signature, RefusesABatchThatIsNoMultiple) {
  EXPECT_EQ(error_of(info_of("[4, 8]"), model_of({{"input", DType::kFloat32, {6, 8}}}, {kOutput})),
            "net.json:5:26: \"input_shape.input\": input \"input\": model info says FLOAT32 [4,8], "
            "the model wants FLOAT32 [6,8]: dimension 0 is 4 against 6");
}

TEST(Signature, RefusesTheSameSizeInAnotherLayout) {
  EXPECT_EQ(
      error_of(info_of("[1, 224, 224, 3]"),
               model_of({{"input", DType::kFloat32, {-1, 3, 224, 224}}}, {kOutput})),
      "net.json:5:26: \"input_shape.input\": input \"input\": model info says FLOAT32 "
      "[1,224,224,3], the model wants FLOAT32 [?,3,224,224]: the same size in another layout");
}

TEST(Signature, NamesTheNearestInputAndOutput) {
  EXPECT_EQ(
      error_of(info_of("[1, 8]", "FLOAT32", "inputs", "logit"),
               model_of({{"input", DType::kFloat32, {-1, 8}}}, {kOutput})),
      "net.json:3:11: \"inputs\": the model has no input \"inputs\", only \"input\" (did you "
      "mean \"input\"?)\n"
      "net.json:3:11: \"inputs\": the model's input \"input\": FLOAT32 [?,8] is not named, "
      "accepted: all of \"input\"\n"
      "net.json:4:12: \"outputs\": the model has no output \"logit\", only \"logits\" (did you "
      "mean \"logits\"?)");
}

TEST(Signature, ComparesNoShapeThatTheModelDoesNotGive) {
  ModelInfo info = info_of("[1, 8]");
  ModelFile model = model_of({{"input", DType::kFloat32, {}}}, {kOutput});
  model.input_dims = {{false, {}}};
  EXPECT_THAT(check_against_signature(info, model), IsOk());
  model.signature.inputs[0].dtype = DType::kInt32;
  EXPECT_EQ(
      error_of(info, model),
      "net.json:6:15: \"input_type\": input \"input\": model info says FLOAT32, the model wants "
      "INT32");
}

TEST(Signature, OnlyWarnsForPublishedFilesAndTakesTheModelsSide) {
  ModelInfo info = info_of("[1, 8]", "FLOAT32", "ids:0", "logits:0");
  info.published_old_form = true;
  const ModelFile model = model_of({{"ids", DType::kInt64, {-1, 16}}}, {kOutput});
  EXPECT_THAT(check_against_signature(info, model), IsOk());
  EXPECT_THAT(
      info.warnings,
      ElementsAre(
          "net.json:3:11: \"inputs\": found \"ids:0\", the model calls it \"ids\", which is "
          "taken",
          "net.json:6:15: \"input_type\": input \"ids\": model info says FLOAT32 [1,8], the "
          "model wants INT64 [?,16]: another dtype",
          "net.json:4:12: \"outputs\": the model has no output \"logits:0\", only "
          "\"logits\" (did you mean \"logits\"?)"));
  EXPECT_THAT(info.inputs, ElementsAre(TensorSpec{"ids", DType::kInt64, {1, 16}}));
  EXPECT_THAT(info.outputs, ElementsAre("logits"));
}

TEST(Signature, RefusesEvenAPublishedFileWhoseInputsCannotBeMatched) {
  ModelInfo info = info_of("[1, 8]");
  info.published_old_form = true;
  EXPECT_THAT(check_against_signature(info, model_of({{"a", DType::kFloat32, {-1, 8}},
                                                      {"b", DType::kFloat32, {-1, 8}}})),
              StatusIs(StatusCode::kInvalidArgument,
                       "net.json:3:11: \"inputs\": the model has no input \"input\", only \"a\", "
                       "\"b\""));
}

TEST(BareModel, TakesTheFirstFreeDimensionForTheBatch) {
  ModelFile model = model_of({{"x", DType::kFloat32, {-1, 3}}}, {kOutput});
  model.batch = {true, 1, ""};
  const auto info = model_info_from_signature(model, {});
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->name, "my");
  EXPECT_EQ(info->framework, "Onnx");
  EXPECT_THAT(info->inputs, ElementsAre(TensorSpec{"x", DType::kFloat32, {1, 3}}));
  EXPECT_THAT(info->batch_axes, ElementsAre(Optional(0U)));
  EXPECT_THAT(info->outputs, ElementsAre("logits"));
  EXPECT_THAT(info->warnings, IsEmpty());
}

TEST(BareModel, TakesOneForANamedDimensionAndSaysSo) {
  ModelFile model = model_of({{"ids", DType::kInt64, {-1, -1}}, {"mask", DType::kInt64, {-1, -1}}});
  model.batch = {true, 1, "batch"};
  model.input_dims = {{true, {"batch", "seq"}}, {true, {"batch", "seq"}}};
  const auto info = model_info_from_signature(model, {});
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->inputs[0].shape, (Shape{1, 1}));
  EXPECT_THAT(info->warnings,
              ElementsAre("input \"ids\": dimension 1 (\"seq\") is free, 1 is taken; --dim seq=N "
                          "sets it",
                          "input \"mask\": dimension 1 (\"seq\") is free, 1 is taken; --dim seq=N "
                          "sets it"));
  const auto chosen = model_info_from_signature(model, {{"seq", 128}});
  ASSERT_THAT(chosen, IsOk());
  EXPECT_EQ(chosen->inputs[0].shape, (Shape{1, 128}));
  EXPECT_EQ(chosen->inputs[1].shape, (Shape{1, 128}));
  EXPECT_THAT(chosen->warnings, IsEmpty());
}

TEST(BareModel, ListsEveryOpenDimensionWithoutANameAtOnce) {
  ModelFile model =
      model_of({{"ids", DType::kInt64, {-1, -1}}, {"x", DType::kFloat32, {-1, 3, -1}}});
  model.batch = {true, 1, ""};
  EXPECT_THAT(
      model_info_from_signature(model, {}),
      StatusIs(StatusCode::kInvalidArgument,
               "my.onnx leaves dimensions open that have no name: dimension 1 of input "
               "\"ids\": INT64 [?,?], dimension 2 of input \"x\": FLOAT32 [?,3,?]; give each "
               "a value, for example --dim ids.1=128 --dim x.2=128"));
  const auto info = model_info_from_signature(model, {{"ids.1", 5}, {"x.2", 7}});
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->inputs[0].shape, (Shape{1, 5}));
  EXPECT_EQ(info->inputs[1].shape, (Shape{1, 3, 7}));
}

TEST(BareModel, RefusesAChoiceForWhatIsNotFree) {
  ModelFile model = model_of({{"ids", DType::kInt64, {-1, -1}}});
  model.batch = {true, 1, ""};
  model.input_dims = {{true, {"", "sequence"}}};
  EXPECT_THAT(model_info_from_signature(model, {{"sequences", 5}}),
              StatusIs(StatusCode::kInvalidArgument,
                       "--dim sequences: not a free dimension of my.onnx, those are: \"sequence\" "
                       "(did you mean \"sequence\"?)"));
}

TEST(BareModel, NamesADimensionOfSeveralInputsOnce) {
  ModelFile model = model_of({{"ids", DType::kInt64, {-1, -1}}, {"mask", DType::kInt64, {-1, -1}}});
  model.batch = {true, 1, "batch"};
  model.input_dims = {{true, {"batch", "seq"}}, {true, {"batch", "seq"}}};
  EXPECT_THAT(model_info_from_signature(model, {{"length", 5}}),
              StatusIs(StatusCode::kInvalidArgument,
                       "--dim length: not a free dimension of my.onnx, those are: \"seq\""));
}

TEST(BareModel, TakesAFixedFirstDimensionThatAllShareForTheBatch) {
  ModelFile model = model_of({{"x", DType::kFloat32, {4, 3}}});
  model.batch = {false, 4, ""};
  const auto info = model_info_from_signature(model, {});
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->inputs[0].shape, (Shape{1, 3}));
  EXPECT_THAT(fixed_batch(*info, model.signature), Optional(4));
}

TEST(BareModel, DoesNotBatchInputsThatShareNoFirstDimension) {
  ModelFile model = model_of({{"x", DType::kFloat32, {4, 3}}, {"y", DType::kFloat32, {7}}});
  const auto info = model_info_from_signature(model, {});
  ASSERT_THAT(info, IsOk());
  EXPECT_THAT(info->batch_axes, ElementsAre(Eq(std::nullopt), Eq(std::nullopt)));
}

TEST(BareModel, TakesRangesForGeneratedData) {
  ModelFile model = model_of({{"ids", DType::kInt64, {-1, 4}}});
  model.batch = {true, 1, ""};
  model.input_ranges = {{0, 99, true, "rows of table"}};
  const auto info = model_info_from_signature(model, {});
  ASSERT_THAT(info, IsOk());
  ASSERT_EQ(info->input_ranges.size(), 1U);
  EXPECT_EQ(info->input_ranges[0].input, "ids");
  EXPECT_EQ(info->input_ranges[0].high, 99);
}

TEST(BareModel, NeedsAFileForAnInputWithoutARank) {
  ModelFile model = model_of({{"x", DType::kFloat32, {}}});
  model.input_dims = {{false, {}}};
  EXPECT_THAT(
      model_info_from_signature(model, {}),
      StatusIs(StatusCode::kInvalidArgument,
               "my.onnx gives no shape for \"x\"; accepted: a model info file in model_zoo/ "
               "that does"));
}

TEST(DimensionChoice, IsANameAndAWholeNumber) {
  const auto choice = parse_dimension_choice("a=b=12");
  ASSERT_THAT(choice, IsOk());
  EXPECT_EQ(choice->name, "a=b");
  EXPECT_EQ(choice->value, 12);
  for (const char* bad : {"", "x", "=3", "x=", "x=0", "x=-1", "x=1.5", "x=1a"}) {
    EXPECT_THAT(parse_dimension_choice(bad),
                StatusIs(StatusCode::kInvalidArgument,
                         "--dim: found \"" + std::string(bad) +
                             "\", accepted: name=value with a whole number of at least 1"));
  }
}

}  // namespace
}  // namespace assay::workload
