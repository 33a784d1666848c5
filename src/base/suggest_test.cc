#include "base/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kKeys = {"batch_sizes", "clients", "iterations"};

TEST(Nearest, OneSlipIsFound) {
  EXPECT_THAT(nearest("batch_size", kKeys), ElementsAre("batch_sizes"));
}
TEST(Nearest, NeighboursThatChangedPlacesAreOneSlip) {
  const std::vector<std::string> names = {"list", "run"};
  EXPECT_THAT(nearest("rnu", names), ElementsAre("run"));
  EXPECT_THAT(nearest("ilst", names), ElementsAre("list"));
  EXPECT_THAT(nearest("nur", names), IsEmpty());  // two slips of three letters
}
TEST(Nearest, CaseAndDashDoNotCount) {
  EXPECT_THAT(nearest("Batch-Sizes", kKeys), ElementsAre("batch_sizes"));
}
TEST(Nearest, FarWordHasNone) { EXPECT_THAT(nearest("precision", kKeys), IsEmpty()); }
TEST(Nearest, SeveralComeNearestFirstAndTiesInOrder) {
  // Of "model-b": 2, 1, 1 and 4 letters away; a third of seven letters is two.
  const std::vector<std::string> names = {"model-aa", "model-a", "model-c", "model-x-yz"};
  EXPECT_THAT(nearest("model-b", names, 4), ElementsAre("model-a", "model-c", "model-aa"));
  EXPECT_THAT(nearest("model-b", names, 2), ElementsAre("model-a", "model-c"));
}
TEST(Nearest, SuggestionReadsAsAQuestion) {
  EXPECT_EQ(did_you_mean("client", kKeys), " (did you mean \"clients\"?)");
  const std::vector<std::string> names = {"int8", "fp32", "fp16"};
  EXPECT_EQ(did_you_mean("fp36", names, 3), " (did you mean \"fp32\" or \"fp16\"?)");
  EXPECT_EQ(did_you_mean("precision", names, 3), "");
}

}  // namespace
}  // namespace assay
