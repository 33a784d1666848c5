#include "controller/reference_tells_apart.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <vector>

#include "base/testing.h"
#include "check/output_store.h"

namespace assay::controller {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;

class TellsApart : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(store_); }

  // Of a store with one sample for each of `values`.
  bool tells(const std::vector<float>& values) {
    auto writer =
        check::OutputWriter::open(store_, {}, {{"y", DType::kFloat32, {1}}}, values.size());
    std::vector<std::size_t> samples;
    for (std::size_t s = 0; s < values.size(); ++s) {
      EXPECT_THAT(writer->write(s, 0, std::as_bytes(std::span(&values[s], 1))), IsOk());
      samples.push_back(s);
    }
    EXPECT_THAT(writer->finish(), IsOk());
    const Result<bool> told = tells_apart(store_, samples);
    EXPECT_THAT(told, IsOk());
    return told.ok() && *told;
  }

  // Tests run side by side.
  fs::path store_ =
      fs::path(::testing::TempDir()) / ("tells_apart_" + std::to_string(::getpid()) + ".outputs");
};

TEST_F(TellsApart, SamplesWithAnswersOfTheirOwn) {
  EXPECT_TRUE(tells({1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_TRUE(tells({0, 0, 0, 1, 0, 1, 1, 1}));  // 3 changes of 8
}

TEST_F(TellsApart, OneAnswerForAll) {
  EXPECT_FALSE(tells({3, 3, 3, 3, 3, 3, 3, 3}));
  EXPECT_FALSE(tells({3, 3, 3, 3, 4, 3, 3, 3}));  // one sample is of another class
  EXPECT_FALSE(tells({1, 1.001F, 1, 1.001F, 1, 1.001F, 1, 1.001F}));  // may round to one answer
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(tells({nan, nan, nan, nan}));
}

TEST_F(TellsApart, WithoutAStoreNothingIsSaid) {
  EXPECT_FALSE(tells_apart(store_, std::vector<std::size_t>{0}).ok());
}

}  // namespace
}  // namespace assay::controller
