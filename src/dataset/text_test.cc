#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/testing.h"
#include "dataset/registry.h"
#include "dataset/text_line.h"
#include "dataset/tokenizer.h"

namespace assay::dataset {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

fs::path write_temp(const std::string& name, const std::string& content) {
  const fs::path path = fs::path(::testing::TempDir()) / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(TextLine, IsALabelAndEverythingAfterTheFirstTab) {
  const auto line = parse_text_line("1\tgood\tand cheap");
  ASSERT_THAT(line, IsOk());
  EXPECT_EQ(line->label, 1);
  EXPECT_EQ(line->text, "good\tand cheap");
  EXPECT_EQ(parse_text_line("-3\t")->label, -3);
}

TEST(TextLine, RefusesALineWithoutALabel) {
  for (const std::string_view line :
       {"", "good", "x\tgood", "1.5\tgood", " 1\tgood", "\tgood", "99999999999999999999\tgood"}) {
    EXPECT_THAT(parse_text_line(line), StatusIs(StatusCode::kDataLoss, HasSubstr("whole number")))
        << line;
  }
}

TEST(LineIndex, FindsLinesWithAndWithoutALastNewline) {
  for (const std::string content : {"0\ta\n\r\n1\tbc\r\n", "0\ta\n\r\n1\tbc"}) {
    const auto index = LineIndex::open(write_temp("lines.tsv", content));
    ASSERT_THAT(index, IsOk());
    ASSERT_EQ(index->size(), 3U);
    EXPECT_EQ(index->read(0).value(), "0\ta");
    EXPECT_EQ(index->read(1).value(), "");
    EXPECT_EQ(index->read(2).value(), "1\tbc");
  }
  EXPECT_EQ(LineIndex::open(write_temp("empty.tsv", ""))->size(), 0U);
}

TEST(LineIndex, FindsLinesAcrossItsReadingBlocks) {
  std::string content;
  for (int i = 0; i < 3000; ++i)
    content += std::string(static_cast<std::size_t>(i % 97), 'x') + "\n";
  const auto index = LineIndex::open(write_temp("long.tsv", content));
  ASSERT_THAT(index, IsOk());
  ASSERT_EQ(index->size(), 3000U);
  for (std::size_t i = 0; i < 3000; ++i) EXPECT_EQ(index->read(i)->size(), i % 97);
}

TEST(LineIndex, RefusesALineThatIsNoText) {
  EXPECT_THAT(LineIndex::open(write_temp("huge.tsv", std::string(3 << 20, 'x'))),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("line 1 is longer")));
}

// Data, vocabulary and the test double of the library in folders of this test's own.
class TextDataset : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) / ("text " + std::string(info->name()));
    fs::remove_all(root_);
    request_.dataset_name = "sentiment";
    request_.task = "some-task";
    request_.data_folders = {root_ / "data"};
    request_.cache_folder = root_ / "cache";
    request_.preprocess = TextPreprocess{"fetched:m/vocab.txt", true, 6};
    request_.inputs = {{"input_ids", DType::kInt64, {-1, -1}},
                       {"attention_mask", DType::kInt32, {-1, 6}},
                       {"token_type_ids", DType::kInt64, {-1, -1}}};
    write("data/sentiment/test.tsv", "1\tAB\n0\tABCDEFGH\n");
    write("cache/models/m/vocab.txt", "A\nB\n");
    link_library(FAKE_TOKENIZER);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& content) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << content;
  }
  void link_library(const fs::path& library) {
    const fs::path path = Tokenizer::library_path(request_.cache_folder);
    fs::create_directories(path.parent_path());
    fs::remove(path);
    fs::create_symlink(library, path);
  }

  fs::path root_;
  DatasetRequest request_;
};

TEST_F(TextDataset, FeedsIdsMaskAndSegmentsByTheirNamesAndDtypes) {
  const auto set = open_dataset(request_);
  ASSERT_THAT(set, IsOk());
  EXPECT_EQ((*set)->size(), 2U);
  EXPECT_EQ((*set)->sample_id(1), "line-00002");
  EXPECT_EQ((*set)->label(0).value(), Label(1));
  std::vector<std::int64_t> ids(6);
  std::vector<std::int32_t> mask(6);
  std::vector<std::int64_t> segments(6, -1);
  const std::array<std::span<std::byte>, 3> into = {std::as_writable_bytes(std::span(ids)),
                                                    std::as_writable_bytes(std::span(mask)),
                                                    std::as_writable_bytes(std::span(segments))};
  ASSERT_THAT((*set)->read(0, into), IsOk());
  EXPECT_THAT(ids, ElementsAre(1, 'A', 'B', 2, 0, 0));
  EXPECT_THAT(mask, ElementsAre(1, 1, 1, 1, 0, 0));
  EXPECT_THAT(segments, ElementsAre(0, 0, 0, 0, 0, 0));
  ASSERT_THAT((*set)->read(1, into), IsOk());
  EXPECT_THAT(ids, ElementsAre(1, 'A', 'B', 'C', 'D', 2));
}

TEST_F(TextDataset, HasCalibrationLinesWhereTheFileIs) {
  EXPECT_EQ(open_dataset(request_).value()->calibration(), nullptr);
  write("data/sentiment/calibration.tsv", "0\tZ\n");
  const auto set = open_dataset(request_);
  ASSERT_THAT(set, IsOk());
  ASSERT_NE((*set)->calibration(), nullptr);
  EXPECT_EQ((*set)->calibration()->size(), 1U);
}

TEST_F(TextDataset, TheVocabularyIsInTheFingerprint) {
  const std::string before = open_dataset(request_).value()->fingerprint();
  write("cache/models/m/vocab.txt", "A\nC\n");
  EXPECT_NE(open_dataset(request_).value()->fingerprint(), before);
}

TEST_F(TextDataset, NamesTheFetchCommandForLibraryVocabularyAndData) {
  const auto says_fetch = StatusIs(StatusCode::kNotFound, HasSubstr("./assay fetch some-task"));
  fs::remove(Tokenizer::library_path(request_.cache_folder));
  EXPECT_THAT(open_dataset(request_), says_fetch);
  link_library(FAKE_TOKENIZER);
  fs::remove(root_ / "cache/models/m/vocab.txt");
  EXPECT_THAT(open_dataset(request_), says_fetch);
  fs::remove_all(root_ / "data/sentiment");
  EXPECT_THAT(open_dataset(request_), says_fetch);
}

TEST_F(TextDataset, ALibraryThatIsNotOneIsRefused) {
  // The loader knows a library that is loaded by its path, so this one gets a path of its own.
  fs::rename(request_.cache_folder, root_ / "other cache");
  request_.cache_folder = root_ / "other cache";
  link_library(FAKE_TOKENIZER_OTHER);
  EXPECT_THAT(open_dataset(request_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is not version 2")));
}

TEST_F(TextDataset, AFileThatIsNoLibraryIsRefused) {
  fs::rename(request_.cache_folder, root_ / "third cache");
  request_.cache_folder = root_ / "third cache";
  write("no library", "text");
  link_library(root_ / "no library");
  EXPECT_THAT(open_dataset(request_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("cannot open")));
}

TEST_F(TextDataset, ABadVocabularyGivesTheLibrarysReason) {
  write("cache/models/m/vocab.txt", "!");
  EXPECT_THAT(
      open_dataset(request_),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("vocab.txt"), HasSubstr("has a !"))));
}

TEST_F(TextDataset, BadLinesAndLabelsAreNamed) {
  write("data/sentiment/test.tsv", "1\tAB\nno label\n");
  EXPECT_THAT(
      open_dataset(request_),
      StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr("test.tsv"), HasSubstr("line-00002"))));
  write("data/sentiment/test.tsv", "1\tAB\n2\tAB\n");
  EXPECT_THAT(open_dataset(request_),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("\"line-00002\": label 2 is outside")));
  write("data/sentiment/test.tsv", "");
  EXPECT_THAT(open_dataset(request_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no samples")));
}

TEST_F(TextDataset, InputsThatTextCannotFeedAreRefused) {
  request_.inputs[0].name = "pixels";
  EXPECT_THAT(open_dataset(request_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("none of ids, mask and segments")));
  request_.inputs[0] = {"input_ids", DType::kInt64, {-1, 128}};
  EXPECT_THAT(open_dataset(request_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("gives integers [1,6]")));
}

// The real library, where `assay fetch` has built it, against BERT's own tokenizer in Python.
TEST(Tokenizer, EqualsBertsOwnOnHardTexts) {
  const char* const cache = std::getenv("ASSAY_CACHE");
  const char* const home = std::getenv("HOME");
  const fs::path folder =
      cache != nullptr ? fs::path(cache) : fs::path(home != nullptr ? home : "") / ".cache/assay";
  const auto vocab = read_file(folder / "models/minilm-sentiment/vocab.txt");
  const fs::path library = Tokenizer::library_path(folder);
  if (!vocab.ok() || !fs::exists(library)) {
    GTEST_SKIP() << "not fetched: ./assay fetch minilm-sentiment-onnx-w8";
  }
  const auto golden = Json::parse(
      read_file(fs::path(ASSAY_SOURCE_DIR) / "tests/data/tokenizer/golden.json").value());
  const auto length = golden.at("max_length").get<std::size_t>();
  for (const bool lowercase : {true, false}) {
    const auto tokenizer = Tokenizer::open(library, *vocab, {lowercase, length});
    ASSERT_THAT(tokenizer, IsOk());
    for (const auto& item : golden.at("cases")) {
      std::vector<std::int64_t> ids(length), mask(length), segments(length);
      ASSERT_THAT((*tokenizer)->encode(item.at("text").get<std::string>(), ids, mask, segments),
                  IsOk());
      auto expected = item.at(lowercase ? "lower" : "cased").get<std::vector<std::int64_t>>();
      const std::size_t used = expected.size();
      expected.resize(length);
      EXPECT_EQ(ids, expected) << item.at("text");
      EXPECT_EQ(std::ranges::count(mask, 1), static_cast<std::ptrdiff_t>(used)) << item.at("text");
      EXPECT_EQ(std::ranges::count(segments, 0), static_cast<std::ptrdiff_t>(length));
    }
  }
}

}  // namespace
}  // namespace assay::dataset
