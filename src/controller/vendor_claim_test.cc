#include "controller/vendor_claim.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing.h"

namespace assay::controller {
namespace {

using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Two rows: 200 samples a second at batch size 1, 1,000 at 8.
Json rows() {
  return Json::array({{{"batch_size", 1}, {"qps", 200.0}}, {{"batch_size", 8}, {"qps", 1000.0}}});
}

Json claim_of(const std::string& text, std::int64_t loaded_batch_size) {
  const auto claims = claims_of(text, loaded_batch_size).value();
  EXPECT_EQ(claims.size(), 1U);
  return claim_json(claims.front().get(), rows());
}

TEST(VendorClaim, IsHeldAgainstTheRowOfItsBatchSize) {
  const Json claim =
      claim_of(R"({"batch_size": 8, "qps": 1500, "latency_ms": {"mean": 5.5, "p99": 7}})", 8);
  EXPECT_EQ(claim["batch_size"], 8);
  EXPECT_EQ(claim["qps_ratio"], 1.5);
  EXPECT_EQ(claim["values"],
            (Json{{"qps", 1500.0}, {"latency_mean_ms", 5.5}, {"latency_p99_ms", 7.0}}));
  EXPECT_EQ(claim["notes"], Json::array());
}

TEST(VendorClaim, WithoutBatchSizeIsAboutTheLoadedOneAndSaysSo) {
  const Json claim = claim_of(R"({"qps": 100, "cores": 4})", 1);
  EXPECT_EQ(claim["batch_size"], 1);
  EXPECT_EQ(claim["qps_ratio"], 0.5);
  EXPECT_EQ(claim["raw"], (Json{{"qps", 100}, {"cores", 4}}));
  ASSERT_EQ(claim["notes"].size(), 1U);
  EXPECT_THAT(claim["notes"][0].get<std::string>(), HasSubstr("the loaded one, 1"));
}

TEST(VendorClaim, HasNoRatioWhereNothingWasMeasured) {
  EXPECT_TRUE(claim_of(R"({"qps": 100})", 16)["qps_ratio"].is_null());
  EXPECT_TRUE(claim_of(R"({"latency_ms": {"mean": 1}})", 8)["qps_ratio"].is_null());
}

TEST(VendorClaim, ThatHasAlreadyBeenReadKeepsItsNotesAndItsRawForm) {
  const Json claim = claim_of(
      R"({"batch_size": 1, "qps": 1, "raw": {"QPS": "1"}, "notes": ["read as a number"]})", 1);
  EXPECT_EQ(claim["raw"], (Json{{"QPS", "1"}}));
  EXPECT_EQ(claim["notes"], Json::array({"read as a number"}));
}

TEST(VendorClaim, MayBeSeveralOrNone) {
  EXPECT_EQ(claims_of(R"([{"qps": 1}, {"qps": 2}])", 1).value().size(), 2U);
  EXPECT_EQ(claims_of("[]", 1).value().size(), 0U);
}

TEST(VendorClaim, OfAnotherFormIsTheBackendsError) {
  const auto expect = [](const char* text, const char* found, const char* accepted) {
    EXPECT_THAT(claims_of(text, 1),
                StatusIs(StatusCode::kInternal, AllOf(HasSubstr(found), HasSubstr(accepted))));
  };
  expect("qps=1", "no JSON", "benchmark");
  expect("\"\xff\"", "no JSON", "benchmark");
  expect("7", "found 7", "a JSON object or a list of such");
  expect("[[1]]", "found [1]", "a JSON object or a list of such");
  expect(R"({"batch_size": 0})", "\"batch_size\": found 0", "a whole number from 1");
  expect(R"({"batch_size": 1.5})", "found 1.5", "a whole number from 1");
  expect(R"({"notes": "fast"})", "\"notes\": found \"fast\"", "a list of texts");
}

}  // namespace
}  // namespace assay::controller
