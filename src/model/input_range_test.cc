#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/testing.h"
#include "model/model.h"

namespace assay {
namespace {

using assay::testing::IsOk;

// The range of one input of a test model.
InputRange range(const std::string& model_name, const std::string& input) {
  const Result<ModelFile> model = read_model(
      std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/models" / (model_name + ".onnx"), "");
  EXPECT_THAT(model, IsOk());
  const InputRange* found = model.ok() ? model->range_of(input) : nullptr;
  EXPECT_NE(found, nullptr) << input;
  return found == nullptr ? InputRange{} : *found;
}

void expect_integers(const InputRange& range, double min, double max) {
  EXPECT_TRUE(range.integral) << range.reason;
  EXPECT_EQ(range.min, min) << range.reason;
  EXPECT_EQ(range.max, max) << range.reason;
}

TEST(InputRange, RealsLieBetweenZeroAndOne) {
  const InputRange reals = range("two_by_two", "a");
  EXPECT_FALSE(reals.integral);
  EXPECT_EQ(reals.min, 0);
  EXPECT_EQ(reals.max, 1);
}

TEST(InputRange, IndexStaysBelowTheTablesRowsThroughReshapeAndCast) {
  expect_integers(range("embedding", "ids"), 0, 99);
}

TEST(InputRange, TableThatIsUnpackedCounts) {
  expect_integers(range("bert_like", "input_ids"), 0, 49);
  expect_integers(range("bert_like", "token_type_ids"), 0, 1);
}

TEST(InputRange, MaskByNameIsOnes) { expect_integers(range("bert_like", "attention_mask"), 1, 1); }

TEST(InputRange, MaskByUseIsOnes) { expect_integers(range("masked", "keep"), 1, 1); }

// Table a has 40 rows; table b 30, and the second of its columns is moved up by 20.
TEST(InputRange, SmallestTableLessTheLargestOffsetBounds) {
  expect_integers(range("recommender", "columns"), 0, 9);
}

TEST(InputRange, BytesUseAllTheirValues) { expect_integers(range("identities", "u8"), 0, 255); }

TEST(InputRange, UnboundIntegersStaySmall) { expect_integers(range("identities", "i64"), 0, 1); }

}  // namespace
}  // namespace assay
