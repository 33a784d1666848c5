// WRAPPER as a backend: its answers without a fault, its options, and the faults of what stays from
// call to call.

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "wrapper/wrapper_test_support.h"

namespace assay::host::testing {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class Wrapper : public WrapperTest {};
class StateFault : public WrapperTest {};

// The names in the refusal of a fault that does not exist.
std::vector<std::string> known_faults() {
  const std::string message =
      Compiled(wrapper_library(), fashion_cnn(), {{"fault", "?"}}).status().message();
  std::vector<std::string> names;
  std::string rest = message.substr(message.find("accepted: ") + 10) + ", ";
  for (std::size_t end = 0; (end = rest.find(", ")) != std::string::npos; rest.erase(0, end + 2)) {
    names.push_back(rest.substr(0, end));
  }
  return names;
}

Values times(Values values, double factor) {
  for (float& value : values) value = static_cast<float>(value * factor);
  return values;
}

// ---- the backend --------------------------------------------------------------------------------

TEST_F(Wrapper, WithoutAFaultAnswersAreTheCpusBitForBit) {
  use_cnn_with("none");
  for (const Values& values : {a_, b_, a_, joined(a_, b_, c_)}) {
    EXPECT_EQ(infer(values), right(values));
  }
  EXPECT_EQ(handle_->thread_rule(), ThreadRule::kAny);
  EXPECT_EQ(handle_->signature(), reference_->signature());
  EXPECT_EQ(*handle_->version(), *reference_->version());
  EXPECT_EQ(handle_->max_in_flight(), 0U);
}

TEST_F(Wrapper, WithoutAFaultTheCpuBackendWritesIntoTheHostsOwnMemory) {
  class Refusing : public OutputSink {
    Result<std::span<std::byte>> allocate(std::size_t, std::span<const std::int64_t>,
                                          std::size_t) override {
      return resource_exhausted("no slot");
    }
  } refusing;
  for (const char* fault : {"none", "kept_state"}) {
    use_cnn_with(fault);
    const Tensor input = wrapped_->input(a_);
    const TensorView view = input.view();
    EXPECT_THAT(handle_->infer({&view, 1}, refusing),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("no slot")))
        << fault;
  }
}

TEST_F(Wrapper, ItsTraitsNameItself) {
  auto compiler = CompileBackend::create(wrapper_library());
  ASSERT_THAT(compiler, IsOk());
  EXPECT_EQ(compiler->traits()->hardware_type, "WRAPPER");
}

TEST_F(Wrapper, ProbeIsTheCpus) {
  const auto probed = probe(wrapper_library());
  ASSERT_THAT(probed, IsOk());
  EXPECT_TRUE((*probed)->available) << (*probed)->reason;
}

TEST_F(Wrapper, ProfileOffersEveryFaultAndTheCpusQuestions) {
  const std::filesystem::path build = ASSAY_BINARY_DIR;
  const Json profile = Json::parse(*read_file(build / "test_backends/WRAPPER/WRAPPER.json"));
  EXPECT_EQ(profile[0]["name"], "fault");
  auto offered = profile[0]["options"].get<std::vector<std::string>>();
  auto known = known_faults();
  std::sort(offered.begin(), offered.end());
  std::sort(known.begin(), known.end());
  EXPECT_EQ(offered, known);
  for (const Json& question : Json::parse(*read_file(build / "backends/CPU/CPU.json"))) {
    EXPECT_NE(std::find(profile.begin(), profile.end(), question), profile.end()) << question;
  }
}

TEST_F(Wrapper, OptionsOfTheCpuReachIt) {
  const Compiled two(wrapper_library(), fashion_cnn(), {{"intra_op_threads", "2"}});
  ASSERT_THAT(two.status(), IsOk());
  EXPECT_EQ(two.result()["optimizations"]["intra_op_threads"], 2);
  const Compiled many(wrapper_library(), fashion_cnn(), {{"intra_op_threads", "many"}});
  EXPECT_THAT(many.status(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"many\"")));
}

TEST_F(Wrapper, UnknownFaultIsRefusedByCompileAndByLoad) {
  const auto refused =
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("\"?\""), HasSubstr("async_input")));
  EXPECT_THAT(Compiled(wrapper_library(), fashion_cnn(), {{"fault", "?"}}).status(), refused);
  Compiled good(wrapper_library(), fashion_cnn(), Json::object());
  good.set("fault", "?");
  EXPECT_THAT(good.try_load(), refused);
}

TEST(WrapperDeathTest, EnvironmentNamesAnotherLibrary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto open_with = [](const std::string& library) {
    setenv("ASSAY_WRAPPED_LIBRARY", library.c_str(), 1);
    const auto manifest = find_backend("WRAPPER", {ASSAY_BINARY_DIR "/test_backends"});
    const auto opened = Library::open(manifest->library_path());
    if (!opened.ok()) {
      std::fputs(opened.status().message().c_str(), stderr);
      std::exit(1);
    }
    std::fputs(RuntimeBackend::create(*opened)->version()->c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(open_with(ASSAY_BINARY_DIR "/test_backends/FAULTY/libassay_backend_faulty.so"),
              ::testing::ExitedWithCode(0), "^faulty 1");
  EXPECT_EXIT(open_with("nowhere.so"), ::testing::ExitedWithCode(1), "nowhere.so");
}

// ---- state --------------------------------------------------------------------------------------

TEST_F(StateFault, AsyncInputComputesTheLastThirdOfTheCallBefore) {
  use_cnn_with("async_input");
  const auto arrived = [](Values now, const Values& before) {
    constexpr std::ptrdiff_t kArrived = 784 - 261;
    std::copy(before.begin() + kArrived, before.end(), now.begin() + kArrived);
    return now;
  };
  EXPECT_EQ(infer(a_), right(arrived(a_, Values(784))));
  EXPECT_EQ(infer(a_), right(a_));
  EXPECT_EQ(infer(b_), right(arrived(b_, a_)));
  EXPECT_NE(right(arrived(b_, a_)), right(b_));
}

TEST_F(StateFault, PartialOutputLeavesTheLastQuarter) {
  use_cnn_with("partial_output");
  const Values answer = infer(a_);
  Values expected = right(a_);
  std::fill(expected.end() - 3, expected.end(), PoisonedSink::kPoison);  // of 10
  EXPECT_EQ(answer, expected);
}

TEST_F(StateFault, LateOutputAnswersTheCallBefore) {
  use_cnn_with("late_output");
  EXPECT_EQ(infer(a_), right(a_));
  EXPECT_EQ(infer(b_), right(a_));
  EXPECT_EQ(infer(c_), right(b_));
  EXPECT_EQ(infer(joined(a_, b_)), right(joined(a_, b_)));  // another shape cannot be late
}

TEST_F(StateFault, KeptStateMixesARunningAverageIn) {
  use_cnn_with("kept_state");
  const Values answer = right(a_);
  EXPECT_THAT(infer(a_), Pointwise(FloatEq(), times(answer, 0.999)));
  // The average is a tenth of the answer, then 0.19 of it.
  EXPECT_THAT(infer(a_), Pointwise(FloatEq(), times(answer, 0.9991)));
  EXPECT_THAT(infer(a_), Pointwise(FloatEq(), times(answer, 0.99919)));
}

TEST_F(StateFault, ChangesAfterIsRightUntilThen) {
  use_cnn({{"fault", "changes_after"}, {"fault_after", 3}});
  for (int call = 0; call < 3; ++call) EXPECT_EQ(infer(a_), right(a_));
  EXPECT_THAT(infer(a_), Pointwise(FloatEq(), times(right(a_), 1.001)));
  handle_ = std::make_unique<RuntimeBackend>(wrapped_->load());
  EXPECT_EQ(infer(a_), right(a_)) << "a new handle counts anew";
}

TEST_F(StateFault, ChangesAfterTenThousandCallsByDefault) {
  use_cnn({{"fault", "changes_after"}, {"intra_op_threads", "1"}});
  for (int call = 1; call < 10000; ++call) infer(a_);
  EXPECT_EQ(infer(a_), right(a_));
  EXPECT_THAT(infer(a_), Pointwise(FloatEq(), times(right(a_), 1.001)));
}

TEST_F(StateFault, ShapeCacheGivesTheFirstAnswerOfAShape) {
  use_cnn_with("shape_cache");
  EXPECT_EQ(infer(a_), right(a_));
  EXPECT_EQ(infer(b_), right(a_));
  EXPECT_EQ(infer(joined(b_, c_)), right(joined(b_, c_)));
  EXPECT_EQ(infer(joined(c_, b_)), right(joined(b_, c_)));
  handle_ = std::make_unique<RuntimeBackend>(wrapped_->load());
  EXPECT_EQ(infer(b_), right(b_));
}

TEST_F(StateFault, EarlyReturnStopsWorkingAfterTheWarmUp) {
  use_cnn_with("early_return");
  for (int call = 1; call < 200; ++call) infer(a_);
  EXPECT_EQ(infer(b_), right(b_));
  EXPECT_EQ(infer(a_), right(b_));
  EXPECT_EQ(infer(c_), right(b_));
}

TEST_F(StateFault, ReuseInputWritesOverTheCallersInput) {
  use_cnn_with("reuse_input");
  const Tensor input = wrapped_->input(a_);
  const TensorView view = input.view();
  PoisonedSink sink;
  ASSERT_THAT(handle_->infer({&view, 1}, sink), IsOk());
  EXPECT_EQ(sink.values(), right(a_));
  const auto left = input.as<float>();
  EXPECT_EQ(Values(left.begin(), left.end()), Values(a_.rbegin(), a_.rend()));
}

TEST_F(StateFault, NegativeFaultAfterIsRefused) {
  const Compiled model(wrapper_library(), fashion_cnn(),
                       {{"fault", "changes_after"}, {"fault_after", -1}});
  EXPECT_THAT(model.try_load(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("-1")));
}

}  // namespace
}  // namespace assay::host::testing
