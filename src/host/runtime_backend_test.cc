#include "host/runtime_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/testing.h"
#include "host/host_test_support.h"
#include "host/test_plugin.h"

namespace assay::host {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::KeepingSink;
using testing::Script;
using testing::tensor_of;
using testing::y_of;

class Runtime : public ::testing::Test {
 protected:
  void SetUp() override { Script::reset(); }

  static RuntimeBackend create() {
    const Library library = Library::from_entry(&Script::entry, "script").value();
    return RuntimeBackend::create(library).value();
  }
  static RuntimeBackend loaded() {
    RuntimeBackend runtime = create();
    EXPECT_THAT(runtime.load({}), IsOk());
    return runtime;
  }
  Status infer(RuntimeBackend& runtime, const Tensor& input) {
    const TensorView view = input.view();
    return runtime.infer({&view, 1}, sink_);
  }
  // infer of a fresh runtime on [1,2,3], with a backend that asks for `output` after `change`.
  Status infer_with(const std::function<void(assay_tensor&)>& change, std::uint32_t index = 0) {
    Script::get().infer = [&, index](const assay_infer_request& request, assay_error* error) {
      std::int64_t shape[2];
      assay_tensor y = y_of(shape, 1);
      change(y);
      return request.outputs->alloc_output(request.outputs->context, index, &y, error);
    };
    RuntimeBackend runtime = loaded();
    return infer(runtime, one_row_);
  }

  KeepingSink sink_;
  const Tensor one_row_ = tensor_of<float>("x", DType::kFloat32, {1, 3}, {1, 2, 3});
};

TEST_F(Runtime, LoadTellsSignatureBatchAndTraits) {
  Script::get().thread_rule = ASSAY_THREADS_ANY;
  RuntimeBackend runtime = loaded();
  EXPECT_EQ(runtime.signature(),
            (Signature{{{"x", DType::kFloat32, {-1, 3}}}, {{"y", DType::kFloat32, {-1, 3}}}}));
  EXPECT_EQ(runtime.loaded_batch_size(), 2);
  EXPECT_EQ(runtime.thread_rule(), ThreadRule::kAny);
  EXPECT_TRUE(runtime.is_qs_mode_supported());
  EXPECT_EQ(runtime.max_in_flight(), 0U);
}

TEST_F(Runtime, LoadPassesEverythingOn) {
  Script::get().on_load = [](const assay_load_request& request) {
    EXPECT_EQ(request.batch_size, 4);
    EXPECT_EQ(request.numa_node, 1);
    ASSERT_EQ(request.device_count, 2U);
    EXPECT_EQ(request.device_ids[1], 5);
    ASSERT_EQ(request.cpu_count, 1U);
    EXPECT_EQ(request.cpus[0], 9);
    EXPECT_STREQ(request.artifact_folder.data, "/artifact");
    EXPECT_STREQ(request.configs->json.data, "{\"a\":1}");
    EXPECT_STREQ(request.compile_result->options[0].value, "m");
  };
  RuntimeBackend runtime = create();
  EXPECT_THAT(runtime.load({"{\"a\":1}", "{\"model\":\"m\"}", "/artifact", 4, {3, 5}, {9}, 1}),
              IsOk());
}

TEST_F(Runtime, IsClosedBeforeItIsDestroyed) {
  {
    RuntimeBackend runtime = loaded();
  }
  EXPECT_THAT(Script::get().calls, ElementsAre("create", "load", "close", "destroy"));
}

TEST_F(Runtime, IsClosedOnce) {
  {
    RuntimeBackend runtime = loaded();
    EXPECT_THAT(runtime.close(), IsOk());
    EXPECT_THAT(runtime.close(), IsOk());
  }
  EXPECT_THAT(Script::get().calls, ElementsAre("create", "load", "close", "destroy"));
}

TEST_F(Runtime, FailedLoadLeavesNothingLoaded) {
  RuntimeBackend runtime = loaded();
  Script::get().code = ASSAY_NOT_FOUND;
  EXPECT_THAT(runtime.load({}), StatusIs(StatusCode::kNotFound, HasSubstr("load")));
  EXPECT_THAT(infer(runtime, one_row_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("nothing is loaded")));
}

TEST_F(Runtime, ImpossibleBatchSizesAreRefused) {
  RuntimeBackend runtime = create();
  LoadRequest request;
  request.batch_size = 0;
  EXPECT_THAT(runtime.load(request), StatusIs(StatusCode::kInvalidArgument, HasSubstr("0")));
  Script::get().loaded_batch_size = 0;
  EXPECT_THAT(runtime.load({}),
              StatusIs(StatusCode::kInternal, HasSubstr("get_loaded_batch_size gave 0")));
}

TEST_F(Runtime, UnknownThreadRuleIsRefused) {
  Script::get().thread_rule = 0;
  EXPECT_THAT(create().load({}), StatusIs(StatusCode::kInternal, HasSubstr("thread rule")));
}

TEST_F(Runtime, InferCarriesBytesThere) {
  RuntimeBackend runtime = loaded();
  ASSERT_THAT(infer(runtime, one_row_), IsOk());
  EXPECT_EQ(sink_.outputs[0].shape, (Shape{1, 3}));
  EXPECT_THAT(sink_.outputs[0].values<float>(), ElementsAre(1, 2, 3));
}

TEST_F(Runtime, InferOfNoRowsGivesNoRows) {
  RuntimeBackend runtime = loaded();
  ASSERT_THAT(infer(runtime, tensor_of<float>("x", DType::kFloat32, {0, 3}, {})), IsOk());
  EXPECT_EQ(sink_.outputs[0].shape, (Shape{0, 3}));
  EXPECT_TRUE(sink_.outputs[0].bytes.empty());
}

TEST_F(Runtime, InferBeforeLoadIsRefused) {
  RuntimeBackend runtime = create();
  EXPECT_THAT(infer(runtime, one_row_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("nothing is loaded")));
}

// ---- the caller's side of a call

TEST_F(Runtime, WrongInputsAreRefusedNamingBothSidesBeforeTheBackendSeesThem) {
  Script::get().infer = [](const assay_infer_request&, assay_error*) {
    ADD_FAILURE() << "the backend was called";
    return ASSAY_OK;
  };
  RuntimeBackend runtime = loaded();
  const auto refused = [&](const Tensor& tensor, const char* got) {
    EXPECT_THAT(infer(runtime, tensor),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(got), HasSubstr("\"x\": FLOAT32 [?,3]"))));
  };
  refused(tensor_of<float>("z", DType::kFloat32, {1, 3}, {1, 2, 3}), "\"z\"");
  refused(tensor_of<double>("x", DType::kFloat64, {1, 3}, {1, 2, 3}), "FLOAT64");
  refused(tensor_of<float>("x", DType::kFloat32, {3}, {1, 2, 3}), "[3]");
  refused(tensor_of<float>("x", DType::kFloat32, {1, 4}, {1, 2, 3, 4}), "[1,4]");
  EXPECT_THAT(runtime.infer({}, sink_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("got 0 inputs, model wants 1")));
}

TEST_F(Runtime, InputOfAnotherByteSizeThanItsShapeIsRefused) {
  RuntimeBackend runtime = loaded();
  TensorView view = one_row_.view();
  view.bytes = view.bytes.first(8);
  EXPECT_THAT(runtime.infer({&view, 1}, sink_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("got 8 bytes, its shape wants 12")));
}

TEST_F(Runtime, MisalignedInputIsRefused) {
  RuntimeBackend runtime = loaded();
  const Tensor bytes = tensor_of<float>("x", DType::kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6});
  TensorView view = one_row_.view();
  view.bytes = bytes.bytes().subspan(1, 12);
  EXPECT_THAT(runtime.infer({&view, 1}, sink_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("aligned")));
}

TEST_F(Runtime, NegativeDimensionIsNotAWildcardInACall) {
  RuntimeBackend runtime = loaded();
  TensorView view = one_row_.view();
  view.spec.shape = {-1, 3};
  EXPECT_THAT(runtime.infer({&view, 1}, sink_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("?")));
}

// ---- the backend's side of a call

TEST_F(Runtime, OutputOfAnotherShapeIsTheBackendsErrorNamingBothSides) {
  static const std::int64_t kShape[] = {1, 4};
  EXPECT_THAT(infer_with([](assay_tensor& y) {
                y.shape = kShape;
                y.size_bytes = 16;
              }),
              StatusIs(StatusCode::kInternal, AllOf(HasSubstr("\"y\": FLOAT32 [1,4]"),
                                                    HasSubstr("\"y\": FLOAT32 [?,3]"))));
  EXPECT_TRUE(sink_.outputs.empty());
}

TEST_F(Runtime, OutputOfAnotherRankDtypeOrNameIsTheBackendsError) {
  EXPECT_THAT(infer_with([](assay_tensor& y) { y.rank = 1; }),
              StatusIs(StatusCode::kInternal, HasSubstr("[1]")));
  EXPECT_THAT(infer_with([](assay_tensor& y) { y.dtype = ASSAY_INT32; }),
              StatusIs(StatusCode::kInternal, HasSubstr("INT32")));
  EXPECT_THAT(infer_with([](assay_tensor& y) { y.dtype = 99; }),
              StatusIs(StatusCode::kInternal, HasSubstr("dtype 99")));
  EXPECT_THAT(infer_with([](assay_tensor& y) { y.name = "z"; }),
              StatusIs(StatusCode::kInternal, HasSubstr("\"z\"")));
  EXPECT_THAT(infer_with([](assay_tensor& y) { y.name = nullptr; }),
              StatusIs(StatusCode::kInternal, HasSubstr("\"\"")));
  EXPECT_THAT(infer_with([](assay_tensor& y) { y.shape = nullptr; }),
              StatusIs(StatusCode::kInternal, HasSubstr("rank 2")));
}

TEST_F(Runtime, OutputOfAnotherByteSizeThanItsShapeIsTheBackendsError) {
  EXPECT_THAT(infer_with([](assay_tensor& y) { y.size_bytes = 11; }),
              StatusIs(StatusCode::kInternal, HasSubstr("11 bytes, its shape wants 12")));
}

TEST_F(Runtime, StridedOrForeignMemoryNeedsAnExtension) {
  static const std::int64_t kStrides[] = {12, 4};
  EXPECT_THAT(infer_with([](assay_tensor& y) { y.strides = kStrides; }),
              StatusIs(StatusCode::kInternal, HasSubstr("strides")));
  EXPECT_THAT(infer_with([](assay_tensor& y) { y.memory_kind = 2; }),
              StatusIs(StatusCode::kInternal, HasSubstr("memory kind 2")));
}

TEST_F(Runtime, OutputBeyondTheSignatureIsTheBackendsError) {
  EXPECT_THAT(infer_with([](assay_tensor&) {}, 1),
              StatusIs(StatusCode::kInternal, HasSubstr("output 1, its signature has 1")));
}

TEST_F(Runtime, OutputNeverAskedForIsTheBackendsError) {
  Script::get().infer = [](const assay_infer_request&, assay_error*) { return ASSAY_OK; };
  RuntimeBackend runtime = loaded();
  EXPECT_THAT(infer(runtime, one_row_),
              StatusIs(StatusCode::kInternal, HasSubstr("without giving output \"y\"")));
}

TEST_F(Runtime, OutputAskedForTwiceIsTheBackendsErrorEvenIfItIgnoresTheRefusal) {
  Script::get().infer = [](const assay_infer_request& request, assay_error* error) {
    std::int64_t shape[2];
    assay_tensor y = y_of(shape, 1);
    EXPECT_EQ(request.outputs->alloc_output(request.outputs->context, 0, &y, error), ASSAY_OK);
    EXPECT_NE(y.data, nullptr);
    EXPECT_EQ(request.outputs->alloc_output(request.outputs->context, 0, &y, error),
              ASSAY_INTERNAL);
    EXPECT_EQ(y.data, nullptr);
    return ASSAY_OK;
  };
  RuntimeBackend runtime = loaded();
  EXPECT_THAT(infer(runtime, one_row_), StatusIs(StatusCode::kInternal, HasSubstr("twice")));
}

TEST_F(Runtime, SinkThatHasNoRoomFailsTheCallWithItsOwnCode) {
  class Full : public OutputSink {
    Result<std::span<std::byte>> allocate(std::size_t, std::span<const std::int64_t>,
                                          std::size_t) override {
      return resource_exhausted("the slot is full");
    }
  } full;
  RuntimeBackend runtime = loaded();
  const TensorView view = one_row_.view();
  EXPECT_THAT(runtime.infer({&view, 1}, full),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("the slot is full")));
}

TEST_F(Runtime, FailedInferCarriesTheBackendsCodeAndText) {
  Script::get().infer = [](const assay_infer_request&, assay_error* error) {
    return assay_set_error(error, ASSAY_UNAVAILABLE, "device fell off the bus");
  };
  RuntimeBackend runtime = loaded();
  EXPECT_THAT(infer(runtime, one_row_),
              StatusIs(StatusCode::kUnavailable, HasSubstr("script: infer: device fell off")));
}

TEST_F(Runtime, SignaturesThatMakeNoSenseAreRefusedAtLoad) {
  const auto refused = [&](const char* why, const std::function<void(assay_tensor&)>& change,
                           int times = 1, std::uint32_t end = ASSAY_OUTPUT) {
    Script::get().describe = [&, times, end](const assay_signature_sink& sink) {
      const std::int64_t shape[2] = {-1, 3};
      assay_tensor tensor{};
      tensor.name = "y";
      tensor.dtype = ASSAY_FLOAT32;
      tensor.rank = 2;
      tensor.shape = shape;
      change(tensor);
      for (int i = 0; i < times; ++i) sink.add(sink.context, end, &tensor);
    };
    EXPECT_THAT(create().load({}), StatusIs(StatusCode::kInternal, HasSubstr(why)));
  };
  static const std::int64_t kBelow[] = {-2, 3};
  refused("no outputs", [](assay_tensor&) {}, 0);
  refused("no outputs", [](assay_tensor&) {}, 1, ASSAY_INPUT);
  refused("twice", [](assay_tensor&) {}, 2);
  refused("neither input nor output", [](assay_tensor&) {}, 1, 3);
  refused("no name", [](assay_tensor& tensor) { tensor.name = nullptr; });
  refused("77 is not a dtype", [](assay_tensor& tensor) { tensor.dtype = 77; });
  refused("not a shape", [](assay_tensor& tensor) { tensor.shape = kBelow; });
  refused("not a shape", [](assay_tensor& tensor) { tensor.rank = 4000000; });
}

TEST_F(Runtime, ManyTensorsPassToo) {
  constexpr std::uint32_t kCount = 40;  // beyond what a call keeps on the stack
  static std::vector<std::string> names;
  names.clear();
  for (std::uint32_t i = 0; i < kCount; ++i) names.push_back("t" + std::to_string(i));
  const auto scalar = [](std::uint32_t i) {
    assay_tensor tensor{};
    tensor.name = names[i].c_str();
    tensor.dtype = ASSAY_INT8;
    tensor.size_bytes = 1;
    tensor.memory_kind = ASSAY_MEMORY_HOST;
    return tensor;
  };
  Script::get().describe = [&](const assay_signature_sink& sink) {
    for (std::uint32_t i = 0; i < kCount; ++i) {
      const assay_tensor tensor = scalar(i);
      sink.add(sink.context, ASSAY_INPUT, &tensor);
      sink.add(sink.context, ASSAY_OUTPUT, &tensor);
    }
  };
  Script::get().infer = [&](const assay_infer_request& request, assay_error* error) {
    for (std::uint32_t i = kCount; i-- > 0;) {
      assay_tensor tensor = scalar(i);
      EXPECT_EQ(request.outputs->alloc_output(request.outputs->context, i, &tensor, error),
                ASSAY_OK);
      *static_cast<std::int8_t*>(tensor.data) = *static_cast<std::int8_t*>(request.inputs[i].data);
    }
    return ASSAY_OK;
  };
  std::vector<Tensor> tensors;
  std::vector<TensorView> views;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    tensors.push_back(
        tensor_of<std::int8_t>(names[i], DType::kInt8, {}, {static_cast<std::int8_t>(i)}));
    views.push_back(tensors.back().view());
  }
  RuntimeBackend runtime = loaded();
  ASSERT_THAT(runtime.infer(views, sink_), IsOk());
  for (std::uint32_t i = 0; i < kCount; ++i) {
    EXPECT_THAT(sink_.outputs[i].values<std::int8_t>(), ElementsAre(i));
  }
}

// ---- optional parts

TEST_F(Runtime, AbsentOptionalSlotsAreUnimplemented) {
  Script::get().runtime.struct_size = offsetof(assay_runtime_table, probe);
  RuntimeBackend runtime = loaded();
  NoData none;
  EXPECT_THAT(runtime.recover(), StatusIs(StatusCode::kUnimplemented, HasSubstr("recover")));
  EXPECT_THAT(runtime.benchmark(none),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("benchmark")));
  EXPECT_THAT(runtime.generate_qs_config(), StatusIs(StatusCode::kUnimplemented, HasSubstr("QS")));
  EXPECT_FALSE(runtime.is_qs_mode_supported());
  EXPECT_FALSE(runtime.can_cancel());
  EXPECT_EQ(probe(runtime.library()).value(), std::nullopt);
}

TEST_F(Runtime, BenchmarkThatCannotReadItsDataFails) {
  class Broken : public NoData {
    std::uint64_t sample_count() const override { return 1; }
  } broken;
  EXPECT_THAT(loaded().benchmark(broken),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("no samples")));
}

TEST_F(Runtime, ProbeIsReadAndDevicesKept) {
  Script::get().runtime.probe = [](const assay_host*, const assay_probe_sink* sink, assay_error*) {
    const assay_availability answer{sizeof answer, 1, nullptr, "535.1", nullptr};
    sink->set_availability(sink->context, &answer);
    const assay_device device{sizeof device, 3, "card", nullptr, -1, 0, 1024};
    sink->add_device(sink->context, &device);
    return ASSAY_OK;
  };
  const Library library = Library::from_entry(&Script::entry, "script").value();
  const ProbeResult result = probe(library).value().value();
  EXPECT_TRUE(result.available);
  EXPECT_EQ(result.driver_version, "535.1");
  EXPECT_EQ(result.sdk_version, "");
  ASSERT_EQ(result.devices.size(), 1U);
  EXPECT_EQ(result.devices[0].id, 3);
  EXPECT_EQ(result.devices[0].memory_bytes, 1024U);
}

TEST_F(Runtime, ProbeWithoutAnAnswerIsTheBackendsError) {
  Script::get().runtime.probe = [](const assay_host*, const assay_probe_sink*, assay_error*) {
    return ASSAY_OK;
  };
  const Library library = Library::from_entry(&Script::entry, "script").value();
  EXPECT_THAT(probe(library), StatusIs(StatusCode::kInternal, HasSubstr("available")));
}

// ---- asynchronous calls

class Async : public Runtime, public CompletionSink {
 protected:
  void SetUp() override {
    Script::reset();
    Script::get().max_in_flight = 2;
    Script::get().submit = [this](const assay_submit_request& request, assay_error*) {
      accepted_.push_back(request);
      return ASSAY_OK;
    };
  }
  void complete(std::uint64_t ticket, Status status) override {
    completed_.emplace_back(ticket, std::move(status));
  }
  Result<std::uint64_t> submit(RuntimeBackend& runtime) {
    const TensorView view = one_row_.view();
    return runtime.submit({&view, 1}, sink_, *this);
  }
  // Gives y and reports `code`.
  static void finish(const assay_submit_request& request, const assay_output_sink& outputs,
                     std::int32_t code = ASSAY_OK) {
    char text[64];
    assay_error error{0, 0, text, sizeof text, 0};
    std::int64_t shape[2];
    assay_tensor y = y_of(shape, 1);
    if (code == ASSAY_OK) outputs.alloc_output(outputs.context, 0, &y, &error);
    request.complete(request.completion_context, request.ticket, code, "as scripted");
  }
  void finish(std::size_t i, std::int32_t code = ASSAY_OK) {
    finish(accepted_[i], *accepted_[i].outputs, code);
  }

  std::vector<assay_submit_request> accepted_;
  std::vector<std::pair<std::uint64_t, Status>> completed_;
};

TEST_F(Async, CallCompletesLaterAndOnce) {
  RuntimeBackend runtime = loaded();
  EXPECT_EQ(runtime.max_in_flight(), 2U);
  const auto ticket = submit(runtime);
  ASSERT_THAT(ticket, IsOk());
  EXPECT_TRUE(completed_.empty());
  finish(0);
  ASSERT_EQ(completed_.size(), 1U);
  EXPECT_EQ(completed_[0].first, *ticket);
  EXPECT_THAT(completed_[0].second, IsOk());
  EXPECT_EQ(sink_.outputs[0].shape, (Shape{1, 3}));
  EXPECT_THAT(runtime.completions_in_order(), IsOk());
}

TEST_F(Async, FailureArrivesWithTheBackendsCode) {
  RuntimeBackend runtime = loaded();
  ASSERT_THAT(submit(runtime), IsOk());
  finish(0, ASSAY_UNAVAILABLE);
  EXPECT_THAT(completed_.at(0).second,
              StatusIs(StatusCode::kUnavailable, HasSubstr("as scripted")));
}

TEST_F(Async, MoreCallsThanDeclaredAreRefusedWithoutBotheringTheBackend) {
  RuntimeBackend runtime = loaded();
  ASSERT_THAT(submit(runtime), IsOk());
  ASSERT_THAT(submit(runtime), IsOk());
  EXPECT_THAT(submit(runtime), StatusIs(StatusCode::kResourceExhausted, HasSubstr("2")));
  EXPECT_EQ(accepted_.size(), 2U);
  finish(0);
  EXPECT_THAT(submit(runtime), IsOk());
}

TEST_F(Async, RefusedSubmitOwesNoCompletion) {
  Script::get().submit = [](const assay_submit_request&, assay_error* error) {
    return assay_set_error(error, ASSAY_RESOURCE_EXHAUSTED, "queue full");
  };
  RuntimeBackend runtime = loaded();
  EXPECT_THAT(submit(runtime), StatusIs(StatusCode::kResourceExhausted, HasSubstr("queue full")));
  EXPECT_THAT(runtime.close(), IsOk());
  EXPECT_TRUE(completed_.empty());
}

TEST_F(Async, CompletionInsideSubmitMaySubmitAgain) {
  class Again : public CompletionSink {
   public:
    void complete(std::uint64_t, Status status) override {
      EXPECT_THAT(status, IsOk());
      if (++count == 5) return;
      EXPECT_THAT(runtime->submit(inputs, *outputs, *this), IsOk());
    }
    RuntimeBackend* runtime = nullptr;
    std::span<const TensorView> inputs;
    OutputSink* outputs = nullptr;
    int count = 0;
  } again;
  Script::get().submit = [](const assay_submit_request& request, assay_error*) {
    finish(request, *request.outputs);
    return ASSAY_OK;
  };
  RuntimeBackend runtime = loaded();
  const TensorView view = one_row_.view();
  again.runtime = &runtime;
  again.inputs = {&view, 1};
  again.outputs = &sink_;
  ASSERT_THAT(runtime.submit({&view, 1}, sink_, again), IsOk());
  EXPECT_EQ(again.count, 5);
}

TEST_F(Async, SecondCompletionIsDroppedAndReported) {
  RuntimeBackend runtime = loaded();
  ASSERT_THAT(submit(runtime), IsOk());
  const assay_output_sink sink = *accepted_[0].outputs;
  finish(accepted_[0], sink);
  accepted_[0].complete(accepted_[0].completion_context, accepted_[0].ticket, ASSAY_OK, nullptr);
  EXPECT_EQ(completed_.size(), 1U);
  EXPECT_THAT(runtime.completions_in_order(),
              StatusIs(StatusCode::kInternal, HasSubstr("not on its way")));
}

TEST_F(Async, CompletionOfAnUnknownTicketIsReported) {
  RuntimeBackend runtime = loaded();
  ASSERT_THAT(submit(runtime), IsOk());
  for (const std::uint64_t ticket : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    accepted_[0].complete(accepted_[0].completion_context, ticket, ASSAY_OK, nullptr);
  }
  EXPECT_TRUE(completed_.empty());
  EXPECT_FALSE(runtime.completions_in_order().ok());
  finish(0);
  EXPECT_EQ(completed_.size(), 1U);
}

TEST_F(Async, CompletionWithoutOutputsIsTheBackendsError) {
  RuntimeBackend runtime = loaded();
  ASSERT_THAT(submit(runtime), IsOk());
  accepted_[0].complete(accepted_[0].completion_context, accepted_[0].ticket, ASSAY_OK, nullptr);
  EXPECT_THAT(completed_.at(0).second,
              StatusIs(StatusCode::kInternal, HasSubstr("without giving output")));
}

TEST_F(Async, CallsForgottenAtCloseAreCompletedByTheHost) {
  RuntimeBackend runtime = loaded();
  const auto ticket = submit(runtime);
  ASSERT_THAT(ticket, IsOk());
  EXPECT_THAT(runtime.close(), StatusIs(StatusCode::kInternal, HasSubstr("1 calls")));
  ASSERT_EQ(completed_.size(), 1U);
  EXPECT_EQ(completed_[0].first, *ticket);
  EXPECT_THAT(completed_[0].second, StatusIs(StatusCode::kInternal, HasSubstr("closed")));
}

TEST_F(Async, LoadWhileCallsAreOnTheirWayIsRefused) {
  RuntimeBackend runtime = loaded();
  ASSERT_THAT(submit(runtime), IsOk());
  EXPECT_THAT(runtime.load({}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("on their way")));
  finish(0);
  EXPECT_THAT(runtime.load({}), IsOk());
}

TEST_F(Async, WithoutSubmitThereIsNone) {
  Script::get().runtime.submit = nullptr;
  RuntimeBackend runtime = loaded();
  EXPECT_EQ(runtime.max_in_flight(), 0U);
  EXPECT_THAT(submit(runtime), StatusIs(StatusCode::kUnimplemented, HasSubstr("asynchronous")));
}

}  // namespace
}  // namespace assay::host
