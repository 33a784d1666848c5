#include "dataset/registry.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/testing.h"
#include "dataset/pillow_golden.h"

namespace assay::dataset {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using namespace std::string_literals;  // NOLINT: literals with zero bytes

// A data folder of this test's own, and requests into it.
class Registry : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) / fmt_name(info->name());
    fs::remove_all(root_);
    fs::create_directories(root_ / "data");
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::string fmt_name(const std::string& test) { return "registry " + test + " ä"; }

  DatasetRequest request(const std::string& name, Preprocess preprocess,
                         std::vector<TensorSpec> inputs) const {
    DatasetRequest request;
    request.dataset_name = name;
    request.task = "some-task";
    request.data_folders = {root_ / "data", fs::path(ASSAY_SOURCE_DIR) / "datasets"};
    request.cache_folder = root_ / "cache";
    request.preprocess = std::move(preprocess);
    request.inputs = std::move(inputs);
    return request;
  }

  DatasetRequest fashion() const {
    ImagePreprocess steps;
    steps.decode = ColorSpace::kGray;
    steps.scale = {255.0F};
    return request("fashion-mnist", steps, {{"input", DType::kFloat32, {-1, 1, 28, 28}}});
  }

  DatasetRequest photos() const {
    ImagePreprocess steps;
    steps.resize = {.short_side = 8, .exact = std::nullopt, .filter = Filter::kBicubic};
    steps.center_crop = ImageSize{8, 8};
    return request("imagenet20", steps, {{"input", DType::kFloat32, {-1, 3, 8, 8}}});
  }

  void write(const fs::path& name, const std::string& content) const {
    fs::create_directories((root_ / "data" / name).parent_path());
    std::ofstream(root_ / "data" / name, std::ios::binary) << content;
  }

  void write_fashion(const std::string& images, const std::string& labels) const {
    write("fashion-mnist/t10k-images-idx3-ubyte.gz", images);
    write("fashion-mnist/t10k-labels-idx1-ubyte.gz", labels);
  }

  fs::path root_;
};

template <typename T>
std::vector<T> read_input(const Dataset& set, std::size_t index) {
  std::vector<T> values(byte_size(set.specs()[0]).value() / sizeof(T));
  const std::span<std::byte> into = std::as_writable_bytes(std::span(values));
  EXPECT_THAT(set.read(index, {&into, 1}), IsOk());
  return values;
}

TEST_F(Registry, FashionMnistIsWhatWasPublished) {
  const auto set = open_dataset(fashion());
  ASSERT_THAT(set, IsOk());
  EXPECT_EQ((*set)->size(), 10000U);
  EXPECT_EQ((*set)->class_count(), 10);
  EXPECT_EQ((*set)->sample_id(42), "t10k-00042");
  EXPECT_EQ((*set)->label(0).value(), Label(9));  // the first one is an ankle boot
  const auto values = read_input<float>(**set, 0);
  EXPECT_EQ(values.size(), 784U);
  EXPECT_EQ(*std::ranges::max_element(values), 1.0F);
  EXPECT_EQ(values.front(), 0.0F);
  EXPECT_EQ((*set)->calibration(), nullptr);
}

TEST_F(Registry, EqualFingerprintsMeanEqualSamples) {
  const std::string first = open_dataset(fashion()).value()->fingerprint();
  EXPECT_EQ(first.size(), 64U);
  EXPECT_EQ(open_dataset(fashion()).value()->fingerprint(), first);
  DatasetRequest other = fashion();
  std::get<ImagePreprocess>(other.preprocess).scale = {256.0F};
  EXPECT_NE(open_dataset(other).value()->fingerprint(), first);
  other = fashion();
  other.label_offset = 1;
  EXPECT_NE(open_dataset(other).value()->fingerprint(), first);
}

TEST_F(Registry, TheLabelOffsetIsAppliedToLabelsAndClasses) {
  DatasetRequest shifted = fashion();
  shifted.label_offset = 1;
  const auto set = open_dataset(shifted);
  ASSERT_THAT(set, IsOk());
  EXPECT_EQ((*set)->label(0).value(), Label(10));
  EXPECT_EQ((*set)->class_count(), 11);
}

TEST_F(Registry, AdultRowsFeedTwoInputsAndWidenTheCategories) {
  const auto set = open_dataset(request(
      "adult", {}, {{"sparse", DType::kInt64, {-1, 8}}, {"dense", DType::kFloat32, {-1, 6}}}));
  ASSERT_THAT(set, IsOk());
  EXPECT_EQ((*set)->size(), 9769U);
  std::vector<std::int64_t> sparse(8);
  std::vector<float> dense(6);
  const std::array<std::span<std::byte>, 2> into = {std::as_writable_bytes(std::span(sparse)),
                                                    std::as_writable_bytes(std::span(dense))};
  ASSERT_THAT((*set)->read(0, into), IsOk());
  EXPECT_THAT(sparse, ::testing::Each(AllOf(::testing::Ge(1), ::testing::Le(42))));
  std::int64_t positives = 0;
  for (std::size_t i = 0; i < (*set)->size(); ++i) {
    positives += std::get<std::int64_t>((*set)->label(i).value());
  }
  EXPECT_EQ(positives, 2269);
}

TEST_F(Registry, AdultRefusesAModelOfAnotherShapeOrDtype) {
  EXPECT_THAT(open_dataset(request("adult", {}, {{"dense", DType::kFloat32, {-1, 7}}})),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("FLOAT32 [1,6] a row, model wants \"dense\": FLOAT32 [?,7]")));
  EXPECT_THAT(open_dataset(request("adult", {}, {{"dense", DType::kInt64, {-1, 6}}})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("FLOAT32 [1,6] a row")));
  EXPECT_THAT(open_dataset(request("adult", {}, {{"age", DType::kFloat32, {-1, 6}}})),
              StatusIs(StatusCode::kNotFound, HasSubstr("\"age.npy\"")));
}

TEST_F(Registry, MissingDataNamesTheExactCommand) {
  EXPECT_THAT(open_dataset(photos()),
              StatusIs(StatusCode::kNotFound, EndsWith("get it with: ./assay fetch some-task")));
  fs::create_directories(root_ / "data/fashion-mnist");
  EXPECT_THAT(open_dataset(fashion()),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr("t10k-images"), HasSubstr("./assay fetch some-task"))));
  DatasetRequest nameless = photos();
  nameless.task = "";
  EXPECT_THAT(
      open_dataset(nameless),
      StatusIs(StatusCode::kNotFound, HasSubstr("./assay fetch efficientnet-lite0-onnx-fp32")));
}

TEST_F(Registry, AnUnknownNameSuggestsTheNearest) {
  EXPECT_THAT(open_dataset(request("fashion_mnist", {}, {{"x", DType::kFloat32, {1}}})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("did you mean \"fashion-mnist\"?")));
}

TEST_F(Registry, EmptySetsSayNoSamples) {
  write_fashion("\0\0\x08\x03\0\0\0\0\0\0\0\x1C\0\0\0\x1C"s, "\0\0\x08\x01\0\0\0\0"s);
  EXPECT_THAT(open_dataset(fashion()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no samples")));
  write("imagenet20/LICENSE", "text");
  EXPECT_THAT(open_dataset(photos()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no samples")));
}

TEST_F(Registry, ALabelOutsideTheClassesNamesSampleAndValue) {
  write_fashion("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x01xy"s, "\0\0\x08\x01\0\0\0\x02\x03\x0A"s);
  EXPECT_THAT(open_dataset(fashion()),
              StatusIs(StatusCode::kOutOfRange,
                       HasSubstr("sample \"t10k-00001\": label 10 is outside the 10 classes")));
  write("imagenet20/a_1000.jpg", "");
  EXPECT_THAT(open_dataset(photos()),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("\"a_1000.jpg\": label 1000")));
}

TEST_F(Registry, CorruptFilesAreNamed) {
  write_fashion("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x01x"s, "\0\0\x08\x01\0\0\0\x02\x03\x04"s);
  EXPECT_THAT(open_dataset(fashion()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("t10k-images-idx3-ubyte.gz\" ends early")));
  write_fashion("\0\0\x08\x03\0\0\0\x01\0\0\0\x01\0\0\0\x01x"s, "\0\0\x08\x01\0\0\0\x02\x03\x04"s);
  EXPECT_THAT(open_dataset(fashion()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("1 images and 2 labels")));
  write_fashion("\0\0\x08\x01\0\0\0\x01x"s, "\0\0\x08\x01\0\0\0\x01\x03"s);
  EXPECT_THAT(open_dataset(fashion()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("rank 3 is wanted")));
  write("adult/adult_test.npz", "PK\x03\x04 not really");
  EXPECT_THAT(open_dataset(request("adult", {}, {{"dense", DType::kFloat32, {-1, 6}}})),
              StatusIs(StatusCode::kDataLoss, HasSubstr("adult_test.npz")));
}

TEST_F(Registry, PhotographsAreLabelledByNameAndACorruptOneIsNamedWhenRead) {
  const std::string jpeg = read_file(testing::pillow_folder() / "420.jpg").value();
  write("imagenet20/b_7.jpg", jpeg);
  write("imagenet20/a_999.JPG", jpeg.substr(0, jpeg.size() / 2));
  write("imagenet20/calibration/other.jpg", jpeg);
  const auto set = open_dataset(photos());
  ASSERT_THAT(set, IsOk());
  ASSERT_EQ((*set)->size(), 2U);
  EXPECT_EQ((*set)->sample_id(0), "a_999.JPG");
  EXPECT_EQ((*set)->label(1).value(), Label(7));
  EXPECT_EQ(read_input<float>(**set, 1).size(), 192U);
  std::vector<std::byte> buffer(192 * 4);
  const std::span<std::byte> into = buffer;
  EXPECT_THAT((*set)->read(0, {&into, 1}),
              StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr("sample \"a_999.JPG\""),
                                                    HasSubstr("corrupt or truncated JPEG"))));
  ASSERT_NE((*set)->calibration(), nullptr);
  EXPECT_EQ((*set)->calibration()->size(), 1U);
  EXPECT_EQ((*set)->calibration()->label(0).value(), Label());
}

TEST_F(Registry, APhotographWithoutAClassNumberIsRefused) {
  write("imagenet20/holiday.jpg", "");
  EXPECT_THAT(open_dataset(photos()), StatusIs(StatusCode::kInvalidArgument,
                                               HasSubstr("holiday.jpg\" has no class number")));
}

TEST_F(Registry, ImagesNeedPreprocessing) {
  EXPECT_THAT(open_dataset(request("fashion-mnist", {}, {{"x", DType::kFloat32, {1, 1, 28, 28}}})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("model info needs preprocess")));
}

TEST_F(Registry, NoNameMeansGenerated) {
  const auto set = open_dataset(request("", {}, {{"x", DType::kFloat32, {1, 2}}}));
  ASSERT_THAT(set, IsOk());
  EXPECT_EQ((*set)->name(), "generated");
}

TEST(ListDatasets, NamesEveryOne) {
  std::vector<std::string_view> names;
  for (const DatasetListing& listing : list_datasets()) names.push_back(listing.name);
  EXPECT_THAT(names, ::testing::ElementsAre("fashion-mnist", "imagenet20", "sentiment", "adult",
                                            "open_squad", "generated"));
}

}  // namespace
}  // namespace assay::dataset
