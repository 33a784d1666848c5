#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "dataset/registry.h"
#include "dataset/squad_file.h"
#include "dataset/squad_windows.h"
#include "dataset/tokenizer.h"

namespace assay::dataset {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file of one paragraph with one question.
std::string file_of(const std::string& context, const std::string& question) {
  return R"({"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": ")" + context +
         R"(", "qas": [)" + question + "]}]}]}";
}

std::string question_of(const std::string& id, const std::string& answers) {
  return R"({"id": ")" + id + R"(", "question": "who?", "answers": [)" + answers + "]}";
}

TEST(SquadFile, CountsOffsetsInCharacters) {
  const auto file =
      parse_squad(file_of("\u6771\u4eac caf\u00e9 \U0001F600 bar",
                          question_of("q", R"({"text": "caf\u00e9", "answer_start": 3},
                                              {"text": "bar", "answer_start": 10})")),
                  "f");
  ASSERT_THAT(file, IsOk());
  ASSERT_EQ(file->questions.size(), 1U);
  EXPECT_EQ(file->questions[0].id, "q");
  EXPECT_EQ(file->questions[0].text, "who?");
  EXPECT_THAT(file->questions[0].answers, ElementsAre("caf\u00e9", "bar"));
  EXPECT_EQ(file->questions[0].paragraph, 0U);
}

TEST(SquadFile, RefusesAnAnswerThatIsNotWhereItsOffsetSays) {
  const auto parse = [](const std::string& answer) {
    return parse_squad(file_of("na\u00efve plan", question_of("q7", answer)), "dev.json");
  };
  EXPECT_THAT(parse(R"({"text": "plan", "answer_start": 7})"),
              StatusIs(StatusCode::kDataLoss,
                       AllOf(HasSubstr("dev.json: question \"q7\", answers[0]"),
                             HasSubstr("the text is \"plan\", at character 7 of the context "
                                       "stands \"lan\""))));
  EXPECT_THAT(
      parse(R"({"text": "plan", "answer_start": 11})"),
      StatusIs(StatusCode::kDataLoss, HasSubstr("\"answer_start\" is 11, the context has 10")));
  EXPECT_THAT(parse(R"({"text": "plan", "answer_start": -1})"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("found -1")));
  EXPECT_THAT(parse(R"({"text": "plan", "answer_start": "6"})"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("found \"6\"")));
  EXPECT_THAT(parse(R"({"text": "plan"})"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("\"answer_start\" is missing")));
  EXPECT_THAT(parse(R"({"text": "", "answer_start": 0})"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("\"text\" is empty")));
}

TEST(SquadFile, RefusesQuestionsThatMayHaveNoAnswer) {
  const auto version_2 =
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("v2.0"), HasSubstr("v1.1")));
  EXPECT_THAT(parse_squad(R"({"version": "v2.0", "data": []})", "f"), version_2);
  EXPECT_THAT(parse_squad(file_of("a b", R"({"id": "q", "question": "?", "answers": [],
                                             "is_impossible": true})"),
                          "f"),
              version_2);
  EXPECT_THAT(parse_squad(file_of("a b", question_of("q", "")), "f"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("question \"q\": there is no answer")));
}

TEST(SquadFile, RefusesAnIdThatIsThereTwice) {
  const std::string question = question_of("q", R"({"text": "a", "answer_start": 0})");
  EXPECT_THAT(parse_squad(file_of("a b", question + "," + question), "f"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("question \"q\": this id is there twice")));
}

TEST(SquadFile, SaysWhereTheFormIsAnother) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no JSON"},
      {"{\"data\": [", "no JSON"},
      {"[]", "found array, wanted is an object with \"data\""},
      {"{}", "\"data\" is missing"},
      {R"({"data": {}})", "\"data\": found object, wanted is array"},
      {R"({"data": [1]})", "data[0]: found number, wanted is an object"},
      {R"({"data": [{"paragraphs": [{"context": 1}]}]})",
       "data[0].paragraphs[0]: \"context\": found number, wanted is string"},
      {R"({"data": [{"paragraphs": [{"context": "a", "qas": [{"id": ""}]}]}]})",
       "data[0].paragraphs[0].qas[0]: \"id\" is empty"},
      {R"({"data": [{"paragraphs": [{"context": "a", "qas": [{"id": "q"}]}]}]})",
       "question \"q\": \"question\" is missing"},
      {"{\"data\": [{\"title\": \"\xff\"}]}", "no JSON"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(parse_squad(text, "f"), StatusIs(StatusCode::kDataLoss, HasSubstr(message)));
  }
  EXPECT_THAT(parse_squad(R"({"data": []})", "f"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no samples")));
}

TEST(SquadWindows, OneWindowHoldsAShortText) {
  EXPECT_THAT(make_windows(5, 2, {10, 3, 4}), ElementsAre(TokenRange{0, 5}));
  EXPECT_THAT(make_windows(0, 2, {10, 3, 4}), ElementsAre(TokenRange{0, 0}));
}

TEST(SquadWindows, StartAStrideApartUntilTheEndIsShown) {
  // 10 ids, of which 2 for the question and 3 special: 5 tokens of the text in each.
  EXPECT_THAT(make_windows(6, 2, {10, 3, 4}), ElementsAre(TokenRange{0, 5}, TokenRange{3, 3}));
  EXPECT_THAT(make_windows(9, 2, {10, 3, 4}),
              ElementsAre(TokenRange{0, 5}, TokenRange{3, 5}, TokenRange{6, 3}));
  // A stride that would pass over tokens is cut to what a window shows.
  EXPECT_THAT(make_windows(9, 2, {10, 99, 4}), ElementsAre(TokenRange{0, 5}, TokenRange{5, 4}));
}

// The data set with the test double of the tokenizer, to which every byte but the space is a token.
class SquadDataset : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) / ("squad " + std::string(info->name()));
    fs::remove_all(root_);
    request_.dataset_name = "open_squad";
    request_.data_folders = {root_ / "datasets", root_ / "data"};
    request_.cache_folder = root_ / "cache";
    TextPreprocess text{"fetched:m/vocab.txt", true, 10, 3, 4};
    request_.preprocess = text;
    request_.inputs = {{"input_ids.1", DType::kInt64, {1, 10}},
                       {"attention_mask.1", DType::kInt64, {1, 10}},
                       {"token_type_ids.1", DType::kInt32, {1, 10}}};
    write("cache/models/m/vocab.txt", "A\n");
    const fs::path library = Tokenizer::library_path(request_.cache_folder);
    fs::create_directories(library.parent_path());
    fs::create_symlink(FAKE_TOKENIZER, library);
    // who? is 4 tokens: 3 are left for the text.
    write("data/open_squad/dev-v1.1.json",
          R"({"version": "1.1", "data": [{"paragraphs": [
              {"context": "ab cd", "qas": [{"id": "one", "question": "who?",
                "answers": [{"text": "cd", "answer_start": 3}]}]},
              {"context": "xyz", "qas": [{"id": "two", "question": "who is it?",
                "answers": [{"text": "y", "answer_start": 1}, {"text": "yz", "answer_start": 1}]}]}
             ]}]})");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& content) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << content;
  }

  fs::path root_;
  DatasetRequest request_;
};

TEST_F(SquadDataset, ASampleIsAWindowOfAQuestion) {
  const auto set = open_dataset(request_);
  ASSERT_THAT(set, IsOk());
  ASSERT_EQ((*set)->size(), 3U);
  EXPECT_EQ((*set)->sample_id(0), "one#1");
  EXPECT_EQ((*set)->sample_id(1), "one#2");
  EXPECT_EQ((*set)->sample_id(2), "two#1");
  EXPECT_EQ((*set)->label(0).value(), Label());
  EXPECT_EQ((*set)->class_count(), 0);
  std::vector<std::int64_t> ids(10);
  std::vector<std::int64_t> mask(10);
  std::vector<std::int32_t> segments(10);
  const std::array<std::span<std::byte>, 3> into = {std::as_writable_bytes(std::span(ids)),
                                                    std::as_writable_bytes(std::span(mask)),
                                                    std::as_writable_bytes(std::span(segments))};
  ASSERT_THAT((*set)->read(1, into), IsOk());
  EXPECT_THAT(ids, ElementsAre(1, 'w', 'h', 'o', '?', 2, 'd', 2, 0, 0));
  EXPECT_THAT(mask, ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 0, 0));
  EXPECT_THAT(segments, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 0, 0));
  ASSERT_THAT((*set)->read(2, into), IsOk());
  EXPECT_THAT(ids, ElementsAre(1, 'w', 'h', 'o', 'i', 2, 'x', 'y', 'z', 2));  // the question is cut
}

TEST_F(SquadDataset, KnowsWhatAWindowShowsAndWhatIsTrue) {
  const auto set = open_dataset(request_);
  ASSERT_THAT(set, IsOk());
  const QuestionSet* const questions = (*set)->questions();
  ASSERT_NE(questions, nullptr);
  ASSERT_EQ(questions->question_count(), 2U);
  const Question one = questions->question(0);
  EXPECT_EQ(one.id, "one");
  EXPECT_EQ(one.context, "ab cd");
  EXPECT_THAT(one.answers, ElementsAre("cd"));
  EXPECT_EQ(one.first_sample, 0U);
  EXPECT_EQ(one.samples, 2U);
  const ContextWindow second = questions->window(1);
  EXPECT_EQ(second.first_position, 6U);
  ASSERT_EQ(second.tokens.size(), 1U);
  EXPECT_EQ(second.tokens[0].begin, 4U);
  EXPECT_EQ(second.tokens[0].end, 5U);
  EXPECT_THAT(questions->question(1).answers, ElementsAre("y", "yz"));
  EXPECT_EQ(questions->question(1).first_sample, 2U);
}

TEST_F(SquadDataset, AQuestionIsUsedWithAllItsWindowsOrNotAtAll) {
  const auto set = open_dataset(request_);
  ASSERT_THAT(set, IsOk());
  const QuestionSet& questions = *(*set)->questions();
  EXPECT_EQ(whole_questions(questions, 1), 0U);
  EXPECT_EQ(whole_questions(questions, 2), 1U);
  EXPECT_EQ(whole_questions(questions, 3), 2U);
  EXPECT_EQ(with_whole_questions(questions, 1), 2U);
  EXPECT_EQ(with_whole_questions(questions, 2), 2U);
  EXPECT_EQ(with_whole_questions(questions, 3), 3U);
}

TEST_F(SquadDataset, IsKnownByTheGuidesNameToo) {
  request_.dataset_name = "squad";
  const auto set = open_dataset(request_);
  ASSERT_THAT(set, IsOk());
  EXPECT_EQ((*set)->name(), "open_squad");
}

TEST_F(SquadDataset, SaysWhatToPutWhereWhenItIsNotThere) {
  const auto says = [](const fs::path& folder) {
    return StatusIs(StatusCode::kNotFound,
                    AllOf(HasSubstr("put dev-v1.1.json"), HasSubstr("rajpurkar.github.io"),
                          HasSubstr(folder.string()), Not(HasSubstr("fetch "))));
  };
  fs::remove(root_ / "data/open_squad/dev-v1.1.json");
  EXPECT_THAT(open_dataset(request_), says(root_ / "datasets/open_squad"));
  fs::remove(root_ / "data/open_squad");
  EXPECT_THAT(open_dataset(request_), says(root_ / "data/open_squad"));
  write("data/open_squad/train-v1.1.json", "{}");
  EXPECT_THAT(open_dataset(request_), says(root_ / "data/open_squad"));
}

TEST_F(SquadDataset, RefusesAQuestionThatLeavesNoRoomForText) {
  request_.preprocess = TextPreprocess{"fetched:m/vocab.txt", true, 10, 3, 7};
  EXPECT_THAT(open_dataset(request_),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("max_length"), HasSubstr("max_query_length 7"))));
}

TEST_F(SquadDataset, WindowsAreInTheFingerprint) {
  const std::string before = open_dataset(request_).value()->fingerprint();
  request_.preprocess = TextPreprocess{"fetched:m/vocab.txt", true, 10, 2, 4};
  EXPECT_NE(open_dataset(request_).value()->fingerprint(), before);
}

// The real library, where `assay fetch` has built it.
class SquadTokens : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const cache = std::getenv("ASSAY_CACHE");
    const char* const home = std::getenv("HOME");
    cache_ =
        cache != nullptr ? fs::path(cache) : fs::path(home != nullptr ? home : "") / ".cache/assay";
    if (!fs::exists(Tokenizer::library_path(cache_))) {
      GTEST_SKIP() << "not fetched: ./assay fetch minilm-sentiment-onnx-w8";
    }
  }

  std::vector<std::string> pieces(const std::string& text, bool lowercase = true) {
    const auto vocab = read_file(data_ / "vocab.txt");
    const auto tokenizer =
        Tokenizer::open(Tokenizer::library_path(cache_), vocab.value(), {lowercase, 24});
    EXPECT_THAT(tokenizer, IsOk());
    const auto tokens = (*tokenizer)->split(text);
    EXPECT_THAT(tokens, IsOk());
    std::vector<std::string> texts;
    for (const TextToken& token : *tokens) {
      texts.push_back(text.substr(token.begin, token.end - token.begin));
    }
    return texts;
  }

  fs::path cache_;
  fs::path data_ = fs::path(ASSAY_SOURCE_DIR) / "tests/data/squad";
};

TEST_F(SquadTokens, AreTheTextAsItStands) {
  EXPECT_THAT(pieces("The old mill."), ElementsAre("The", "old", "mill", "."));
  EXPECT_THAT(pieces(""), ElementsAre());
  EXPECT_THAT(pieces("Lamplighters"), ElementsAre("Lamp", "light", "ers"));
  EXPECT_THAT(pieces("\u6771\u4eac\u58541958\u5e74"),
              ElementsAre("\u6771", "\u4eac", "\u5854", "1958", "\u5e74"));
  EXPECT_THAT(pieces("\U0001F98A away"), ElementsAre("\U0001F98A", "away"));
}

TEST_F(SquadTokens, KeepTheAccentsThatLoweringStrips) {
  EXPECT_THAT(pieces("Cr\u00e8me caf\u00e9 in"), ElementsAre("Cr\u00e8me", "caf\u00e9", "in"));
  EXPECT_THAT(pieces("cafe\u0301 in"), ElementsAre("cafe\u0301", "in"));
  EXPECT_THAT(pieces("cafe\u0301\u0323"), ElementsAre("cafe\u0301\u0323"));
  // An invisible character in a word belongs to the word, behind it to nobody.
  EXPECT_THAT(pieces("to\u00adwn\u200b in"), ElementsAre("to\u00adwn", "in"));
}

// tests/data/squad/generate.py says whose these are.
TEST_F(SquadTokens, WindowsEqualAnIndependentImplementation) {
  const auto golden = Json::parse(read_file(data_ / "golden.json").value());
  const Json& window = golden.at("window");
  const auto length = window.at("max_length").get<std::int64_t>();
  DatasetRequest request;
  request.dataset_name = "open_squad";
  const fs::path root = fs::path(::testing::TempDir()) / "squad golden";
  fs::remove_all(root);
  fs::create_directories(root);
  fs::create_directory_symlink(data_, root / "open_squad");
  request.data_folders = {root};
  request.cache_folder = cache_;
  request.model_folder = data_;
  request.preprocess = TextPreprocess{"vocab.txt", true, length, window.at("doc_stride"),
                                      window.at("max_query_length")};
  for (const char* name : {"input_ids", "attention_mask", "token_type_ids"}) {
    request.inputs.push_back({name, DType::kInt64, {-1, -1}});
  }
  const auto set = open_dataset(request);
  ASSERT_THAT(set, IsOk());
  const QuestionSet& questions = *(*set)->questions();
  ASSERT_EQ(questions.question_count(), golden.at("windows").size());
  for (std::size_t i = 0; i < questions.question_count(); ++i) {
    const Question question = questions.question(i);
    const Json& windows = golden.at("windows").at(std::string(question.id));
    ASSERT_EQ(question.samples, windows.size()) << question.id;
    for (std::size_t k = 0; k < question.samples; ++k) {
      std::array<std::vector<std::int64_t>, 3> values;
      std::array<std::span<std::byte>, 3> into;
      for (std::size_t v = 0; v < values.size(); ++v) {
        values[v].resize(static_cast<std::size_t>(length));
        into[v] = std::as_writable_bytes(std::span(values[v]));
      }
      ASSERT_THAT((*set)->read(question.first_sample + k, into), IsOk());
      for (std::size_t v = 0; v < values.size(); ++v) {
        EXPECT_EQ(values[v], windows[k][v].get<std::vector<std::int64_t>>())
            << (*set)->sample_id(question.first_sample + k) << " input " << v;
      }
    }
  }
}

}  // namespace
}  // namespace assay::dataset
