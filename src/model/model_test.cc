#include "model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.h"
#include "base/hash.h"
#include "base/testing.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

fs::path models() { return fs::path(ASSAY_SOURCE_DIR) / "tests/data/models"; }
fs::path model_path(const std::string& name) { return models() / (name + ".onnx"); }

ModelFile read(const std::string& name) {
  Result<ModelFile> model = read_model(model_path(name), "onnx");
  EXPECT_THAT(model, IsOk());
  return model.ok() ? *std::move(model) : ModelFile{};
}

// A folder of its own for each test, removed when the test ends.
class Scratch {
 public:
  Scratch()
      : path_(fs::path(::testing::TempDir()) /
              (std::string("model-") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
               std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  fs::path operator/(const fs::path& name) const { return path_ / name; }

  fs::path write(const std::string& name, const std::string& content) const {
    EXPECT_THAT(write_file_atomic(path_ / name, content), IsOk());
    return path_ / name;
  }

 private:
  fs::path path_;
};

std::string bytes_of(const std::string& name) { return *read_file(model_path(name)); }

// ---- what is read ------------------------------------------------------------------------------

TEST(ReadModel, SignatureKeepsOrderNamesAndDTypes) {
  const ModelFile model = read("two_by_two");
  EXPECT_THAT(model.signature.inputs, ElementsAre(TensorSpec{"a", DType::kFloat32, {-1, 2}},
                                                  TensorSpec{"b", DType::kFloat32, {-1, 2}}));
  EXPECT_THAT(model.signature.outputs,
              ElementsAre(TensorSpec{"sum", DType::kFloat32, {-1, 2}},
                          TensorSpec{"difference", DType::kFloat32, {-1, 2}}));
}

TEST(ReadModel, EveryDTypeOfOursIsKnown) {
  const ModelFile model = read("identities");
  std::vector<DType> dtypes;
  dtypes.reserve(model.signature.inputs.size());
  for (const TensorSpec& input : model.signature.inputs) dtypes.push_back(input.dtype);
  EXPECT_THAT(dtypes,
              ElementsAre(DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kInt64,
                          DType::kInt32, DType::kInt16, DType::kInt8, DType::kUInt8, DType::kBool));
}

TEST(ReadModel, SymbolicDimensionsAreFreeAndKeepTheirNames) {
  const ModelFile model = read("symbolic_dims");
  EXPECT_EQ(model.signature.inputs[0].shape, (Shape{-1, -1, 4}));
  EXPECT_THAT(model.input_dims[0].names, ElementsAre("batch", "seq", ""));
}

TEST(ReadModel, UnnamedAndNegativeDimensionsAreFree) {
  EXPECT_EQ(read("unnamed_dims").signature.inputs[0].shape, (Shape{-1, 4}));
  EXPECT_EQ(read("negative_dim").signature.inputs[0].shape, (Shape{-1, 4}));
}

TEST(ReadModel, ScalarHasRankZeroAndIsNotAnUnknownRank) {
  const ModelFile model = read("scalar_output");
  EXPECT_EQ(model.signature.outputs[0].shape, Shape{});
  EXPECT_TRUE(model.output_dims[0].rank_known);
}

TEST(ReadModel, OutputWithoutAShapeSaysSo) {
  EXPECT_FALSE(read("no_output_shape").output_dims[0].rank_known);
}

TEST(ReadModel, InitializerListedAmongInputsIsNoInput) {
  const ModelFile model = read("initializer_as_input");
  EXPECT_THAT(model.signature.inputs, ElementsAre(TensorSpec{"x", DType::kFloat32, {1, 2}}));
  EXPECT_EQ(model.initializer_count, 1);
}

TEST(ReadModel, HeaderIsKept) {
  const ModelFile model = read("microsoft_op");
  EXPECT_EQ(model.ir_version, 8);
  EXPECT_EQ(model.producer, "assay-tests 1");
  EXPECT_THAT(model.opsets, ElementsAre(Opset{"ai.onnx", 17}, Opset{"com.microsoft", 1}));
  EXPECT_THAT(model.op_histogram, ElementsAre(Pair("com.microsoft.Gelu", 1)));
}

TEST(ReadModel, OperatorsOfSubGraphsCount) {
  EXPECT_THAT(read("branch").op_histogram,
              UnorderedElementsAre(Pair("If", 1), Pair("Relu", 1), Pair("Neg", 1)));
}

TEST(ReadModel, QuantizeNodesAreSeen) {
  EXPECT_TRUE(read("quantised").has_quantize_nodes);
  EXPECT_FALSE(read("bert_like").has_quantize_nodes);  // 8-bit weights, unpacked by Cast and Mul
}

// ---- batch -------------------------------------------------------------------------------------

TEST(ReadModelBatch, FreeLeadingDimensionIsDynamic) {
  const BatchInfo batch = read("dynamic_batch").batch;
  EXPECT_TRUE(batch.dynamic);
  EXPECT_EQ(batch.symbol, "N");
}

TEST(ReadModelBatch, FixedLeadingDimensionIsNot) {
  EXPECT_FALSE(read("fixed_batch1").batch.dynamic);
  EXPECT_EQ(read("fixed_batch1").batch.fixed, 1);
  EXPECT_EQ(read("fixed_batch2").batch.fixed, 2);
}

TEST(ReadModelBatch, ScalarInputDoesNotMatter) { EXPECT_TRUE(read("scalar_input").batch.dynamic); }

// ---- hash and external data --------------------------------------------------------------------

TEST(ReadModelHash, WithoutExternalDataItIsTheFilesOwn) {
  EXPECT_EQ(read("half").content_hash, sha256_hex(bytes_of("half")));
}

TEST(ReadModelHash, CoversExternalDataAfterTheModel) {
  const std::string outside = *read_file(models() / "external/w.bin");
  const ModelFile model = read("external/model");
  EXPECT_EQ(model.content_hash, sha256_hex(bytes_of("external/model") + outside));
  EXPECT_EQ(model.size_bytes, bytes_of("external/model").size() + outside.size());
}

TEST(ReadModelExternal, ResolvesAgainstTheModelsFolderFromAnyWorkingDirectory) {
  const fs::path before = fs::current_path();
  fs::current_path("/");
  const Result<ModelFile> model = read_model(model_path("external/model"), "onnx");
  fs::current_path(before);
  ASSERT_THAT(model, IsOk());
  ASSERT_EQ(model->external_files.size(), 1U);
  EXPECT_EQ(model->external_files[0].location, "w.bin");
  EXPECT_TRUE(fs::equivalent(model->external_files[0].path, models() / "external/w.bin"));
  EXPECT_EQ(model->external_files[0].size_bytes, 20U);
}

TEST(ReadModelExternal, MissingFileIsNamed) {
  EXPECT_THAT(read_model(model_path("external/missing"), "onnx"),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr("tensor \"w\""), HasSubstr("external/missing.bin"))));
}

TEST(ReadModelExternal, LocationsOutsideTheFolderAreRefused) {
  EXPECT_THAT(read_model(model_path("external/parent"), "onnx"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("../external/w.bin")));
  EXPECT_THAT(read_model(model_path("external/absolute"), "onnx"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("absolute")));
}

TEST(ReadModelExternal, LinkThatLeavesTheFolderIsRefused) {
  const Scratch scratch;
  const fs::path model = scratch.write("model.onnx", bytes_of("external/model"));
  fs::create_symlink(models() / "external/w.bin", scratch / "w.bin");
  EXPECT_THAT(read_model(model, "onnx"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("link")));
}

TEST(ReadModelExternal, FolderWhereAFileIsNamedIsRefused) {
  const Scratch scratch;
  const fs::path model = scratch.write("model.onnx", bytes_of("external/model"));
  fs::create_directory(scratch / "w.bin");
  EXPECT_THAT(read_model(model, "onnx"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a file")));
}

TEST(ReadModelExternal, FileTooShortForItsTensorIsDataLoss) {
  EXPECT_THAT(read_model(model_path("external/too_long"), "onnx"),
              StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr("20 bytes"), HasSubstr("offset 8"))));
}

TEST(ReadModelExternal, MoreThanTwoGigabytesAreStreamed) {
  const Scratch scratch;
  const fs::path model = scratch.write("model.onnx", bytes_of("external/large"));
  constexpr std::uint64_t kSizeBytes = 2'200'000'016;
  scratch.write("large.bin", "");
  fs::resize_file(scratch / "large.bin", kSizeBytes);  // sparse: takes no room on disk
  const Result<ModelFile> read = read_model(model, "onnx");
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->external_files[0].size_bytes, kSizeBytes);
}

// ---- bad files ---------------------------------------------------------------------------------

TEST(ReadModelBad, MissingFileIsNotFound) {
  EXPECT_THAT(read_model("no such model.onnx", "onnx"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no such model.onnx")));
}

TEST(ReadModelBad, FolderIsRefused) {
  EXPECT_THAT(read_model(models(), "onnx"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("folder")));
}

TEST(ReadModelBad, EmptyFileIsDataLoss) {
  const Scratch scratch;
  EXPECT_THAT(read_model(scratch.write("e.onnx", ""), "onnx"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("empty")));
}

TEST(ReadModelBad, TextIsDataLoss) {
  const Scratch scratch;
  EXPECT_THAT(read_model(scratch.write("t.onnx", "<!DOCTYPE html>\n<p>404</p>\n"), "onnx"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("not an ONNX model")));
}

TEST(ReadModelBad, NoPrefixOfAModelIsTakenForAModel) {
  const Scratch scratch;
  const std::string whole = bytes_of("two_by_two");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const Result<ModelFile> model =
        read_model(scratch.write("cut.onnx", whole.substr(0, size)), "onnx");
    EXPECT_FALSE(model.ok()) << "the first " << size << " of " << whole.size() << " bytes";
  }
}

TEST(ReadModelBad, ChangedBytesNeverCrash) {
  const Scratch scratch;
  const std::string whole = bytes_of("bert_like");
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::string changed = whole;
    changed[at] = static_cast<char>(~changed[at]);
    // Whether it still is a model is not the point.
    (void)read_model(scratch.write("changed.onnx", changed), "onnx").ok();
  }
}

TEST(ReadModelBad, NewerIrNamesBothSides) {
  EXPECT_THAT(read_model(model_path("ir99"), "onnx"),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("model IR 99, newest supported 13")));
}

TEST(ReadModelBad, NewerOpsetNamesBothSides) {
  EXPECT_THAT(read_model(model_path("opset999"), "onnx"),
              StatusIs(StatusCode::kOutOfRange,
                       HasSubstr("model opset 999 of ai.onnx, newest supported 26")));
}

TEST(ReadModelBad, LimitsAreTheCallers) {
  const ModelLimits old{7, {}};
  EXPECT_THAT(read_model(model_path("half"), "onnx", old),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("model IR 8, newest supported 7")));
}

TEST(ReadModelBad, TensorsOfTextAreRefusedAllAtOnce) {
  EXPECT_THAT(
      read_model(model_path("string_input"), "onnx"),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("input \"text\" holds STRING"),
                                                   HasSubstr("output \"out\" holds STRING"))));
}

TEST(ReadModelBad, SequencesAreRefused) {
  EXPECT_THAT(read_model(model_path("sequence_output"), "onnx"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"s\" is not a tensor")));
}

TEST(ReadModelFormat, IsToldByTheExtensionWhenNoneIsGiven) {
  EXPECT_THAT(read_model(model_path("half"), ""), IsOk());
}

TEST(ReadModelFormat, UnknownFormatNamesTheKnownOnes) {
  EXPECT_THAT(read_model(model_path("half"), "pt"),
              StatusIs(StatusCode::kUnimplemented, AllOf(HasSubstr("\"pt\""), HasSubstr("onnx"))));
}

TEST(ReadModelFormat, FolderOfAFormatWithoutAReaderIsNoMistake) {
  EXPECT_THAT(read_model(models(), "saved_model"),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("\"saved_model\"")));
}

TEST(ReadModelFormat, PathsWithSpacesAndOtherLettersWork) {
  const Scratch scratch;
  EXPECT_THAT(read_model(scratch.write("modèle α 模型.onnx", bytes_of("half")), ""), IsOk());
}

}  // namespace
}  // namespace assay
