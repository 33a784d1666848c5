#include "controller/changed_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/testing.h"
#include "dataset/generated.h"

namespace assay::controller {
namespace {

using ::assay::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Values = std::array<float, 2>;

Values read(const dataset::Dataset& dataset, std::size_t index) {
  Values values{};
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(values));
  EXPECT_THAT(dataset.read(index, {&bytes, 1}), IsOk());
  return values;
}

check::InputHypothesis adding(float number) {
  return {"plus", "", [number](check::SampleInputs inputs) {
            auto* values = reinterpret_cast<float*>(inputs.front().data());
            for (std::size_t i = 0; i < 2; ++i) values[i] += number;
            return ok_status();
          }};
}

TEST(ChangedSamples, EachHypothesisHasEverySample) {
  const auto base = dataset::make_generated(
      {.inputs = {{"x", DType::kFloat32, {1, 2}}}, .samples = 5, .seed = 3});
  ASSERT_THAT(base, IsOk());
  const ChangedSamples changed(**base, {4, 1}, {adding(10), adding(20)});
  ASSERT_EQ(changed.size(), 4);
  const Values fourth = read(**base, 4);
  const Values first = read(**base, 1);
  EXPECT_THAT(read(changed, 0), ElementsAre(fourth[0] + 10, fourth[1] + 10));
  EXPECT_THAT(read(changed, 1), ElementsAre(first[0] + 10, first[1] + 10));
  EXPECT_THAT(read(changed, 2), ElementsAre(fourth[0] + 20, fourth[1] + 20));
  EXPECT_THAT(read(changed, 3), ElementsAre(first[0] + 20, first[1] + 20));
  EXPECT_THAT(changed.sample_id(3), HasSubstr((*base)->sample_id(1)));
  EXPECT_NE(changed.fingerprint(), (*base)->fingerprint());
}

}  // namespace
}  // namespace assay::controller
