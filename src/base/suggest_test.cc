#include "base/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay {
namespace {

const std::vector<std::string> kKeys = {"batch_sizes", "clients", "iterations"};

TEST(Nearest, OneSlipIsFound) { EXPECT_EQ(nearest("batch_size", kKeys), "batch_sizes"); }
TEST(Nearest, CaseAndDashDoNotCount) { EXPECT_EQ(nearest("Batch-Sizes", kKeys), "batch_sizes"); }
TEST(Nearest, FarWordHasNone) { EXPECT_EQ(nearest("precision", kKeys), ""); }
TEST(Nearest, SuggestionReadsAsAQuestion) {
  EXPECT_EQ(did_you_mean("client", kKeys), " (did you mean \"clients\"?)");
}

}  // namespace
}  // namespace assay
