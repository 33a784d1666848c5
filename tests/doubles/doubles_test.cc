// The doubles as they are used: opened as libraries, called through the host.

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/testing.h"
#include "dma/dma_control.h"
#include "host/backend.h"
#include "host/host_test_support.h"

namespace assay::host {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::KeepingSink;
using testing::tensor_of;

const std::filesystem::path kDoubles = ASSAY_BINARY_DIR "/test_backends";
const std::filesystem::path kBackends = ASSAY_BINARY_DIR "/backends";

Library open(const std::filesystem::path& folder, const char* name) {
  const Result<Manifest> manifest = find_backend(name, {folder});
  EXPECT_THAT(manifest, IsOk());
  const Result<Library> library = Library::open(manifest->library_path());
  EXPECT_THAT(library, IsOk());
  return *library;
}

RuntimeBackend load(const Library& library, const std::string& configs = "{}") {
  RuntimeBackend runtime = RuntimeBackend::create(library).value();
  LoadRequest request;
  request.configs = configs;
  EXPECT_THAT(runtime.load(request), IsOk());
  return runtime;
}

TEST(NullBackend, CompilesLoadsAndReturnsAtOnce) {
  const Library library = open(kBackends, "NULL");
  NoData none;
  const auto result =
      CompileBackend::create(library)->compile({"{}", ::testing::TempDir(), nullptr}, none);
  ASSERT_THAT(result, IsOk());
  RuntimeBackend runtime = load(library);
  EXPECT_EQ(runtime.thread_rule(), ThreadRule::kAny);
  const Tensor input = tensor_of<float>("x", DType::kFloat32, {2, 1}, {1, 2});
  const TensorView view = input.view();
  KeepingSink sink;
  ASSERT_THAT(runtime.infer({&view, 1}, sink), IsOk());
  EXPECT_EQ(sink.outputs[0].shape, (Shape{2, 1}));
}

// ---- FAULTY, in the ways that leave the process alive

Status infer_faulty(const std::string& fault, KeepingSink& sink) {
  RuntimeBackend runtime =
      load(open(kDoubles, "FAULTY"), R"({"interact_info": {"fault": ")" + fault + R"("}})");
  const Tensor input = tensor_of<float>("x", DType::kFloat32, {1, 4}, {0, 0, 0, 0});
  const TensorView view = input.view();
  return runtime.infer({&view, 1}, sink);
}

TEST(FaultyBackend, WorksWhenNothingIsToFail) {
  KeepingSink sink;
  ASSERT_THAT(infer_faulty("", sink), IsOk());
  EXPECT_EQ(sink.outputs[0].shape, (Shape{1, 10}));
}

TEST(FaultyBackend, TakesTheSignatureOfTheModelInfo) {
  const char* const configs = R"({"model_info": {
    "inputs": "ids,mask", "input_type": "INT64,FLOAT32",
    "input_shape": {"ids": [1, 64], "mask": [1, 2, 3]}, "outputs": "logits"},
    "interact_info": {"classes": 2}})";
  RuntimeBackend runtime = load(open(kDoubles, "FAULTY"), configs);
  EXPECT_EQ(runtime.signature(),
            (Signature{{{"ids", DType::kInt64, {-1, 64}}, {"mask", DType::kFloat32, {-1, 2, 3}}},
                       {{"logits", DType::kFloat32, {-1, 2}}}}));
}

TEST(FaultyBackend, BrokenRulesAreCaughtByTheHostThoughItReportsSuccess) {
  KeepingSink sink;
  const std::map<std::string, std::string> expected = {
      {"wrong_shape", "[1,11]"},  {"wrong_bytes", "36 bytes, its shape wants 40"},
      {"wrong_dtype", "FLOAT16"}, {"wrong_name", "\"another\""},
      {"twice", "twice"},         {"no_output", "without giving output"}};
  for (const auto& [fault, message] : expected) {
    EXPECT_THAT(infer_faulty("infer:" + fault, sink),
                StatusIs(StatusCode::kInternal, HasSubstr(message)))
        << fault;
  }
}

TEST(FaultyBackend, ThrowsAndErrorsKeepTheirText) {
  KeepingSink sink;
  EXPECT_THAT(infer_faulty("infer:throw", sink),
              StatusIs(StatusCode::kUnknown, HasSubstr("thrown on demand")));
  EXPECT_THAT(infer_faulty("infer:error", sink),
              StatusIs(StatusCode::kUnavailable, HasSubstr("failed on demand")));
}

TEST(FaultyBackend, EveryFifthCallFails) {
  RuntimeBackend runtime =
      load(open(kDoubles, "FAULTY"), R"({"interact_info": {"fault": "infer:every_5th"}})");
  const Tensor input = tensor_of<float>("x", DType::kFloat32, {1, 4}, {0, 0, 0, 0});
  const TensorView view = input.view();
  KeepingSink sink;
  for (int call = 1; call <= 10; ++call) {
    EXPECT_EQ(runtime.infer({&view, 1}, sink).ok(), call % 5 != 0) << call;
  }
}

TEST(FaultyBackend, NanIsNan) {
  KeepingSink sink;
  ASSERT_THAT(infer_faulty("infer:nan", sink), IsOk());
  const float first = sink.outputs[0].values<float>()[0];
  EXPECT_NE(first, first);
}

TEST(FaultyBackendDeathTest, DiesInTheWayItIsTold) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  KeepingSink sink;
  EXPECT_EXIT((void)infer_faulty("infer:abort", sink), ::testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT((void)infer_faulty("infer:exit0", sink), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT((void)infer_faulty("load:exit3", sink), ::testing::ExitedWithCode(3), "");
}

// ---- DMA

// Waits for completions without anybody sleeping.
class Completions : public CompletionSink {
 public:
  void complete(std::uint64_t ticket, Status status) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(done_.emplace(ticket, std::move(status)).second) << "completed twice";
    wake_.notify_all();
  }
  Status wait_for(std::uint64_t ticket) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return done_.contains(ticket); });
    return done_.at(ticket);
  }
  void wait_for_count(std::size_t count) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return done_.size() >= count; });
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return done_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::uint64_t, Status> done_;
};

class Dma : public ::testing::Test {
 protected:
  Dma()
      : library_(open(kDoubles, "DMA")),
        runtime_(load(library_, R"({"interact_info": {"queue_depth": 3}})")),
        control_(*static_cast<const DmaControl*>(library_.extension(ASSAY_TEST_EXTENSION_DMA))) {}

  static Tensor row(float first) {
    return tensor_of<float>("x", DType::kFloat32, {1, 4}, {first, 1, 2, 3});
  }

  Library library_;
  RuntimeBackend runtime_;
  const DmaControl& control_;
};

TEST_F(Dma, ProbeTellsTheDevice) {
  const auto result = probe(library_);
  ASSERT_THAT(result, IsOk());
  ASSERT_EQ((*result)->devices.size(), 1U);
  EXPECT_EQ((*result)->driver_version, "3.1");
}

TEST_F(Dma, UnknownDeviceIsRefused) {
  LoadRequest request;
  request.device_ids = {1};
  EXPECT_THAT(runtime_.load(request), StatusIs(StatusCode::kNotFound, HasSubstr("0")));
}

TEST_F(Dma, BlockingCallWaitsForItsBytes) {
  const Tensor input = row(5);
  const TensorView view = input.view();
  KeepingSink sink;
  ASSERT_THAT(runtime_.infer({&view, 1}, sink), IsOk());
  EXPECT_THAT(sink.outputs[0].values<float>(), ElementsAre(11, 3, 5, 7));
}

TEST_F(Dma, SubmittedCallReadsItsInputLaterAndCompletesOnce) {
  control_.hold(runtime_.handle());
  Tensor input = row(5);
  const TensorView view = input.view();
  KeepingSink sink;
  Completions completions;
  const auto ticket = runtime_.submit({&view, 1}, sink, completions);
  ASSERT_THAT(ticket, IsOk());
  EXPECT_EQ(completions.count(), 0U);
  EXPECT_TRUE(sink.outputs.empty());
  control_.release(runtime_.handle());
  ASSERT_THAT(completions.wait_for(*ticket), IsOk());
  EXPECT_THAT(sink.outputs[0].values<float>(), ElementsAre(11, 3, 5, 7));
  EXPECT_THAT(runtime_.completions_in_order(), IsOk());
}

TEST_F(Dma, FullQueueIsResourceExhaustedAndEmptiesAgain) {
  control_.hold(runtime_.handle());
  EXPECT_EQ(runtime_.max_in_flight(), 3U);
  const Tensor input = row(0);
  const TensorView view = input.view();
  std::vector<KeepingSink> sinks(4);
  Completions completions;
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(runtime_.submit({&view, 1}, sinks[static_cast<std::size_t>(i)], completions),
                IsOk());
  }
  EXPECT_THAT(runtime_.submit({&view, 1}, sinks[3], completions),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("")));
  control_.release(runtime_.handle());
  completions.wait_for_count(3);
  const auto ticket = runtime_.submit({&view, 1}, sinks[3], completions);
  ASSERT_THAT(ticket, IsOk());
  EXPECT_THAT(completions.wait_for(*ticket), IsOk());
}

TEST_F(Dma, CancelledCallCompletesAsCancelled) {
  control_.hold(runtime_.handle());
  const Tensor input = row(0);
  const TensorView view = input.view();
  KeepingSink first_sink;
  KeepingSink second_sink;
  Completions completions;
  const auto first = runtime_.submit({&view, 1}, first_sink, completions);
  const auto second = runtime_.submit({&view, 1}, second_sink, completions);
  ASSERT_THAT(second, IsOk());
  ASSERT_TRUE(runtime_.can_cancel());
  EXPECT_THAT(runtime_.cancel(*second), IsOk());
  EXPECT_THAT(completions.wait_for(*second), StatusIs(StatusCode::kCancelled, HasSubstr("")));
  EXPECT_TRUE(second_sink.outputs.empty());
  EXPECT_THAT(runtime_.cancel(*second), StatusIs(StatusCode::kNotFound, HasSubstr("")));
  control_.release(runtime_.handle());
  EXPECT_THAT(completions.wait_for(*first), IsOk());
}

TEST_F(Dma, CloseCompletesWhatWaits) {
  control_.hold(runtime_.handle());
  const Tensor input = row(0);
  const TensorView view = input.view();
  std::vector<KeepingSink> sinks(2);
  Completions completions;
  for (KeepingSink& sink : sinks) {
    ASSERT_THAT(runtime_.submit({&view, 1}, sink, completions), IsOk());
  }
  EXPECT_THAT(runtime_.close(), IsOk());
  EXPECT_EQ(completions.count(), 2U);
}

TEST_F(Dma, OutputsRefusedByTheHostFailTheCallLater) {
  class Full : public OutputSink {
    Result<std::span<std::byte>> allocate(std::size_t, std::span<const std::int64_t>,
                                          std::size_t) override {
      return resource_exhausted("no slot");
    }
  } full;
  const Tensor input = row(0);
  const TensorView view = input.view();
  Completions completions;
  const auto ticket = runtime_.submit({&view, 1}, full, completions);
  ASSERT_THAT(ticket, IsOk());
  EXPECT_THAT(completions.wait_for(*ticket),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("no slot")));
}

TEST_F(Dma, ManyThreadsEachGetTheirOwnAnswer) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        const auto first = static_cast<float>(t * kCalls + i);
        const Tensor input = row(first);
        const TensorView view = input.view();
        KeepingSink sink;
        Completions completions;
        Result<std::uint64_t> ticket = runtime_.submit({&view, 1}, sink, completions);
        while (!ticket.ok() && ticket.status().code() == StatusCode::kResourceExhausted) {
          std::this_thread::yield();
          ticket = runtime_.submit({&view, 1}, sink, completions);
        }
        ASSERT_THAT(ticket, IsOk());
        ASSERT_THAT(completions.wait_for(*ticket), IsOk());
        EXPECT_THAT(sink.outputs[0].values<float>(), ElementsAre(2 * first + 1, 3, 5, 7));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(runtime_.completions_in_order(), IsOk());
}

}  // namespace
}  // namespace assay::host
