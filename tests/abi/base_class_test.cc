// What the C++ classes make of what a vendor's methods do.

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/backend.hpp"
#include "base/testing.h"
#include "host/backend.h"
#include "host/host_test_support.h"

namespace assay {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using host::testing::KeepingSink;
using host::testing::tensor_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What the next method does before it returns.
std::function<void()> behaviour;
std::function<void(const backend::Inputs&, backend::Outputs, backend::Completion&)> on_submit;
std::vector<backend::Completion> kept;

void behave() {
  if (behaviour) behaviour();
}

class Compile : public backend::CompileBackend {
 public:
  std::string hardware_type() override {
    behave();
    return "TEST";
  }
  std::string compile(const backend::Document& /*configs*/, backend::DataLoader& /*data*/,
                      backend::CompileJob& job) override {
    behave();
    job.progress(0.5, "half");
    log(ASSAY_LOG_INFO, "compiled");
    return "{\"path\":" + backend::json_quoted(job.path("m.bin")) + "}";
  }
};

class Runtime : public backend::RuntimeBackend, public backend::AsyncRuntime {
 public:
  std::string version() override {
    behave();
    return "1";
  }
  void load(const backend::LoadRequest& /*request*/) override { behave(); }
  backend::Signature signature() override {
    return {{{"x", backend::DType::kInt8, {}}}, {{"y", backend::DType::kInt8, {-1}}}};
  }
  void predict(const backend::Inputs& inputs, backend::Outputs& outputs) override {
    behave();
    *outputs.allocate<std::int8_t>(0, {1}) = *inputs[0].data<std::int8_t>();
  }
  std::optional<std::int64_t> get_loaded_batch_size() override { return 4; }
  void close() override { behave(); }
  std::uint32_t max_in_flight() override { return 2; }
  void submit(const backend::Inputs& inputs, backend::Outputs outputs,
              backend::Completion& completion) override {
    on_submit(inputs, outputs, completion);
  }
};

// A runtime with nothing but what must be there.
class PlainRuntime : public backend::RuntimeBackend {
 public:
  std::string version() override { return "1"; }
  void load(const backend::LoadRequest& /*request*/) override {}
  backend::Signature signature() override { return {{}, {{"y", backend::DType::kInt8, {1}}}}; }
  void predict(const backend::Inputs& /*inputs*/, backend::Outputs& outputs) override {
    outputs.allocate<std::int8_t>(0, {1});
  }
};

class Lines : public host::LogSink {
 public:
  void write(std::uint32_t level, std::string_view line) override {
    lines.push_back(std::to_string(level) + " " + std::string(line));
  }
  std::vector<std::string> lines;
};

class BaseClasses : public ::testing::Test, public host::CompletionSink {
 protected:
  void SetUp() override {
    behaviour = nullptr;
    on_submit = nullptr;
    kept.clear();
  }
  void TearDown() override { behaviour = nullptr; }
  static host::Library open() {
    return host::Library::from_entry(&backend::detail::Plugin<Compile, Runtime>::enter, "test")
        .value();
  }
  static host::RuntimeBackend loaded() {
    auto runtime = host::RuntimeBackend::create(open()).value();
    EXPECT_THAT(runtime.load({}), IsOk());
    return runtime;
  }
  Status infer(host::RuntimeBackend& runtime) {
    const TensorView view = input_.view();
    return runtime.infer({&view, 1}, sink_);
  }
  Result<std::uint64_t> submit(host::RuntimeBackend& runtime) {
    const TensorView view = input_.view();
    return runtime.submit({&view, 1}, sink_, *this);
  }
  void complete(std::uint64_t /*ticket*/, Status status) override { completed_.push_back(status); }

  const Tensor input_ = tensor_of<std::int8_t>("x", DType::kInt8, {}, {7});
  KeepingSink sink_;
  std::vector<Status> completed_;
};

TEST_F(BaseClasses, CarryACallAndStampTheVersions) {
  EXPECT_EQ(open().plugin().struct_size, sizeof(assay_plugin));
  EXPECT_EQ(open().interface_version(), "0.1");
  auto runtime = loaded();
  ASSERT_THAT(infer(runtime), IsOk());
  EXPECT_THAT(sink_.outputs[0].values<std::int8_t>(), ElementsAre(7));
  EXPECT_EQ(runtime.loaded_batch_size(), 4);
}

TEST_F(BaseClasses, EveryKindOfExceptionBecomesACode) {
  auto runtime = loaded();
  const auto thrown = [&](const std::function<void()>& what, StatusCode code, const char* text) {
    behaviour = what;
    EXPECT_THAT(infer(runtime), StatusIs(code, HasSubstr(text)));
    behaviour = nullptr;
  };
  thrown([] { throw backend::Error(ASSAY_DATA_LOSS, "corrupt"); }, StatusCode::kDataLoss,
         "corrupt");
  thrown([] { throw backend::Error(ASSAY_OK, "fine?"); }, StatusCode::kUnknown, "fine?");
  thrown([] { throw std::runtime_error("odd"); }, StatusCode::kUnknown, "odd");
  thrown([] { throw std::invalid_argument("bad"); }, StatusCode::kInvalidArgument, "bad");
  thrown([] { throw std::bad_alloc(); }, StatusCode::kResourceExhausted, "memory");
  thrown([] { throw 42; }, StatusCode::kUnknown, "not a std::exception");
  EXPECT_THAT(infer(runtime), IsOk());
}

TEST_F(BaseClasses, ExceptionsOfEveryMethodAreCaught) {
  const host::Library library = open();
  auto compiler = host::CompileBackend::create(library).value();
  auto runtime = host::RuntimeBackend::create(library).value();
  host::NoData none;
  behaviour = [] { throw backend::Error(ASSAY_ABORTED, "no"); };
  const auto aborted = StatusIs(StatusCode::kAborted, HasSubstr("no"));
  EXPECT_THAT(compiler.traits(), aborted);
  EXPECT_THAT(compiler.compile({"{}", "/tmp", nullptr}, none), aborted);
  EXPECT_THAT(runtime.version(), aborted);
  EXPECT_THAT(runtime.load({}), aborted);
  EXPECT_THAT(runtime.close(), aborted);
}

TEST_F(BaseClasses, LongMessagesAreCutBetweenCharacters) {
  auto runtime = loaded();
  // 1023 bytes fit; the 512th two-byte character would be cut in half.
  behaviour = [] {
    std::string text = "x";
    for (int i = 0; i < 600; ++i) text += "\xC3\xA9";
    throw std::runtime_error(text);
  };
  const Status status = infer(runtime);
  EXPECT_EQ(status.message().substr(status.message().size() - 2), "\xC3\xA9");
}

TEST_F(BaseClasses, OptionalMethodsHaveQuietDefaults) {
  const host::Library library = open();
  auto compiler = host::CompileBackend::create(library).value();
  EXPECT_EQ(compiler.get_interact_profile("{}").value(), "");
  EXPECT_EQ(compiler.pre_optimize("{}", "/tmp").value(), std::nullopt);
  EXPECT_EQ(compiler.get_best_batch_size().value(), std::nullopt);
  auto runtime = loaded();
  host::NoData none;
  EXPECT_THAT(runtime.benchmark(none),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("benchmark")));
  EXPECT_THAT(runtime.recover(), StatusIs(StatusCode::kUnimplemented, HasSubstr("recover")));
  EXPECT_EQ(host::probe(library).value(), std::nullopt);
}

TEST_F(BaseClasses, RuntimeWithoutAsyncHasNoSubmitSlot) {
  const auto library =
      host::Library::from_entry(&backend::detail::Plugin<Compile, PlainRuntime>::enter, "plain");
  ASSERT_THAT(library, IsOk());
  EXPECT_EQ(library->plugin().runtime->submit, nullptr);
  auto runtime = host::RuntimeBackend::create(*library).value();
  ASSERT_THAT(runtime.load({}), IsOk());
  EXPECT_EQ(runtime.loaded_batch_size(), 1);  // the one asked for
}

TEST_F(BaseClasses, LogAndArtifactPathsReachTheHost) {
  Lines lines;
  const auto library =
      host::Library::from_entry(&backend::detail::Plugin<Compile, Runtime>::enter, "test", &lines);
  host::NoData none;
  const auto result =
      host::CompileBackend::create(*library)->compile({"{}", "/a b", nullptr}, none);
  EXPECT_EQ(result.value(), R"({"path":"/a b/m.bin"})");
  EXPECT_THAT(lines.lines, ElementsAre("2 compiled"));
}

TEST_F(BaseClasses, HostMayEndACompilation) {
  host::NoData none;
  auto compiler = host::CompileBackend::create(open()).value();
  EXPECT_THAT(
      compiler.compile({"{}", "/tmp", [](double, std::string_view) { return false; }}, none),
      StatusIs(StatusCode::kCancelled, HasSubstr("end")));
}

TEST_F(BaseClasses, KeptCompletionIsReportedLater) {
  on_submit = [](const backend::Inputs&, backend::Outputs outputs,
                 backend::Completion& completion) {
    *outputs.allocate<std::int8_t>(0, {1}) = 9;
    kept.push_back(std::move(completion));
  };
  auto runtime = loaded();
  ASSERT_THAT(submit(runtime), IsOk());
  EXPECT_TRUE(completed_.empty());
  kept.at(0).succeed();
  kept.at(0).succeed();  // the second has nothing left to report
  EXPECT_THAT(completed_, ElementsAre(IsOk()));
  EXPECT_THAT(runtime.completions_in_order(), IsOk());
}

TEST_F(BaseClasses, DroppedCompletionIsReportedAsTheBackendsError) {
  on_submit = [](const backend::Inputs&, backend::Outputs, backend::Completion& completion) {
    kept.push_back(std::move(completion));
  };
  auto runtime = loaded();
  ASSERT_THAT(submit(runtime), IsOk());
  kept.clear();
  EXPECT_THAT(completed_, ElementsAre(StatusIs(StatusCode::kInternal, HasSubstr("dropped"))));
}

TEST_F(BaseClasses, ThrowingBeforeAcceptingRefusesTheCall) {
  on_submit = [](const backend::Inputs&, backend::Outputs, backend::Completion&) {
    throw backend::Error(ASSAY_RESOURCE_EXHAUSTED, "full");
  };
  auto runtime = loaded();
  EXPECT_THAT(submit(runtime), StatusIs(StatusCode::kResourceExhausted, HasSubstr("full")));
  EXPECT_TRUE(completed_.empty());
}

TEST_F(BaseClasses, ThrowingAfterAcceptingStillCompletesOnce) {
  on_submit = [](const backend::Inputs&, backend::Outputs, backend::Completion& completion) {
    const backend::Completion mine = std::move(completion);
    throw std::runtime_error("too late");
  };
  auto runtime = loaded();
  ASSERT_THAT(submit(runtime), IsOk());
  EXPECT_THAT(completed_, ElementsAre(StatusIs(StatusCode::kInternal, HasSubstr("dropped"))));
  EXPECT_THAT(runtime.completions_in_order(), IsOk());
}

TEST_F(BaseClasses, NeitherAcceptingNorRefusingIsTheBackendsError) {
  on_submit = [](const backend::Inputs&, backend::Outputs, backend::Completion&) {};
  auto runtime = loaded();
  EXPECT_THAT(submit(runtime), StatusIs(StatusCode::kInternal, HasSubstr("neither")));
  EXPECT_TRUE(completed_.empty());
}

}  // namespace
}  // namespace assay
