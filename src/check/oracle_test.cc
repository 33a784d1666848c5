// Holds metrics, statistics and the numeric comparison to what NumPy, SciPy and scikit-learn say:
// tests/data/check, written by make_goldens.py there.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "check/metrics.h"
#include "check/numeric.h"
#include "check/statistics.h"

namespace assay::check {
namespace {

using ::assay::testing::IsOk;

Json golden(const std::string& name) {
  const Result<std::string> text =
      read_file(std::string(ASSAY_SOURCE_DIR) + "/tests/data/check/" + name);
  EXPECT_THAT(text, IsOk());
  return text.ok() ? Json::parse(*text) : Json();
}

// Equal to about ten digits; near zero, to 1e-12.
void expect_close(double got, const Json& want) {
  const auto wanted = want.get<double>();
  EXPECT_NEAR(got, wanted, 1e-12 + 1e-10 * std::fabs(wanted));
}

template <typename T>
TensorView view_of(const std::vector<T>& values, DType dtype) {
  return {{"y", dtype, {1, static_cast<std::int64_t>(values.size())}},
          std::as_bytes(std::span(values))};
}

AccuracyResult evaluate(const std::string& name, const Json& test) {
  MetricOptions options;
  options.bootstrap_resamples = 50;
  if (test.value("scores_are", "") == "probabilities") options.scores = Scores::kProbabilities;
  Result<Metric> metric = make_metric(name, options);
  EXPECT_THAT(metric, IsOk());
  for (std::size_t i = 0; i < test["labels"].size(); ++i) {
    const Json& scores = test["scores"][i];
    const auto values = scores.is_array() ? scores.get<std::vector<double>>()
                                          : std::vector<double>{scores.get<double>()};
    EXPECT_THAT(metric->add(i, view_of(values, DType::kFloat64), test["labels"][i].get<int>()),
                IsOk());
  }
  Result<AccuracyResult> result = metric->finish();
  EXPECT_THAT(result, IsOk());
  return *result;
}

TEST(MetricsOracle, EveryMetricEqualsScikitLearn) {
  const Json goldens = golden("metrics.json");
  int compared = 0;
  for (const char* family : {"binary", "classes"}) {
    for (const Json& test : goldens[family]) {
      for (const auto& [name, want] : test["want"].items()) {
        SCOPED_TRACE(test["name"].get<std::string>() + ", " + name);
        const AccuracyResult result = evaluate(name, test);
        expect_close(result.value, want);
        for (const auto& [extra, value] : result.extra) expect_close(value, test["want"][extra]);
        EXPECT_LE(result.interval_low, result.value);
        EXPECT_GE(result.interval_high, result.value);
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 14);
}

TEST(StatisticsOracle, WilsonEqualsScipy) {
  const Json goldens = golden("statistics.json");
  ASSERT_EQ(goldens["wilson"].size(), 5U);
  for (const Json& test : goldens["wilson"]) {
    const Interval interval = wilson(test["k"].get<double>(), test["n"].get<double>());
    expect_close(interval.low, test["low"]);
    expect_close(interval.high, test["high"]);
  }
}

TEST(StatisticsOracle, PairedRatioScoreEqualsASearchForTheMaximumLikelihood) {
  const Json goldens = golden("statistics.json");
  ASSERT_EQ(goldens["paired_ratio_score"].size(), 8U);
  for (const Json& test : goldens["paired_ratio_score"]) {
    const auto counts = test["counts"].get<std::vector<std::uint64_t>>();
    const PairedCounts table{counts[0], counts[1], counts[2], counts[3]};
    EXPECT_NEAR(paired_ratio_score(table, test["ratio"].get<double>()).value(),
                test["z"].get<double>(), 1e-4);
  }
}

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

NumericResult compare(const Json& test, std::size_t samples) {
  const auto reference = from_hex(test["reference"].get<std::string>());
  const auto got = from_hex(test["got"].get<std::string>());
  const DType ref_dtype = parse_dtype(test["reference_dtype"].get<std::string>()).value();
  const DType dtype = parse_dtype(test["dtype"].get<std::string>()).value();
  const std::size_t elements = reference.size() / size_of(ref_dtype) / samples;
  const Shape shape = {static_cast<std::int64_t>(elements)};
  NumericOptions options;
  options.atol = test["atol"].get<double>();
  options.rtol = test["rtol"].get<double>();
  auto comparison =
      NumericComparison::create({"y", ref_dtype, shape}, {"y", dtype, shape}, options);
  EXPECT_THAT(comparison, IsOk());
  const std::size_t ref_step = elements * size_of(ref_dtype);
  const std::size_t got_step = elements * size_of(dtype);
  for (std::size_t i = 0; i < samples; ++i) {
    EXPECT_THAT(comparison->add(i, std::span(reference).subspan(i * ref_step, ref_step),
                                std::span(got).subspan(i * got_step, got_step)),
                IsOk());
  }
  return comparison->finish();
}

void expect_numeric(const NumericResult& result, const Json& want) {
  const Json json = to_json(result);
  for (const char* name :
       {"nonfinite_mismatches", "nan_both", "inf_both", "compared", "differing"}) {
    EXPECT_EQ(json[name], want[name]) << name;
  }
  for (const char* name : {"max_abs", "mean_abs", "std_abs", "mean_signed", "rmse", "max_rel",
                           "mean_rel", "outside_tolerance", "cosine", "snr_db"}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(json[name].is_number());
    expect_close(json[name].get<double>(), want[name]);
  }
  ASSERT_EQ(want.contains("ulp"), json["ulp"].is_object());
  if (!want.contains("ulp")) return;
  EXPECT_EQ(json["ulp"]["unit"], want["ulp"]["unit"]);
  expect_close(json["ulp"]["max"].get<double>(), want["ulp"]["max"]);
  for (const char* name : {"p50", "p99"}) {  // at most 1/64 low
    EXPECT_LE(json["ulp"][name].get<double>(), want["ulp"][name].get<double>()) << name;
    EXPECT_GT(json["ulp"][name].get<double>(), want["ulp"][name].get<double>() * (1 - 1.0 / 63))
        << name;
  }
}

TEST(NumericOracle, EveryFigureEqualsItsDefinitionInNumPy) {
  const Json goldens = golden("numeric.json");
  EXPECT_EQ(goldens["cases"].size(), 9U);
  for (const Json& test : goldens["cases"]) {
    SCOPED_TRACE(test["name"].get<std::string>());
    expect_numeric(compare(test, 1), test["want"]);
  }
}

TEST(NumericOracle, HowTheElementsAreSplitIntoSamplesChangesNothing) {
  const Json goldens = golden("numeric.json");
  for (const Json& test : goldens["cases"]) {
    SCOPED_TRACE(test["name"].get<std::string>());
    expect_numeric(compare(test, 70), test["want"]);
  }
}

}  // namespace
}  // namespace assay::check
