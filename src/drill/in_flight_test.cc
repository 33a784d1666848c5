// What CallsInFlight says of a backend that breaks the contract of submitted calls, by a plugin
// that a test scripts.

#include "drill/in_flight.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "base/testing.h"
#include "drill/answers.h"
#include "host/host_test_support.h"
#include "host/test_plugin.h"

namespace assay::drill {
namespace {

using assay::testing::IsOk;
using host::testing::Script;
using host::testing::tensor_of;
using ::testing::HasSubstr;

// A well-behaved end of `request`: y is x.
void finish(const assay_submit_request& request) {
  std::int64_t shape[2] = {1, 3};
  assay_tensor y = host::testing::y_of(shape, 1);
  char text[64];
  assay_error error{0, 0, text, sizeof text, 0};
  ASSERT_EQ(request.outputs->alloc_output(request.outputs->context, 0, &y, &error), ASSAY_OK);
  std::memcpy(y.data, request.inputs[0].data, y.size_bytes);
  request.complete(request.completion_context, request.ticket, ASSAY_OK, nullptr);
}

class Calls : public ::testing::Test {
 protected:
  // What is said of one call that the backend treats like this.
  std::string said_of(std::int32_t (*submit)(const assay_submit_request&, assay_error*)) {
    Script::reset();
    Script::get().max_in_flight = 4;
    Script::get().submit = submit;
    const auto library = host::Library::from_entry(Script::entry, "scripted");
    EXPECT_THAT(library, IsOk());
    auto runtime = host::RuntimeBackend::create(*library);
    EXPECT_THAT(runtime, IsOk());
    EXPECT_THAT(runtime->load({}), IsOk());
    std::vector<Case> cases(1);
    cases[0].inputs.push_back(tensor_of<float>("x", DType::kFloat32, {1, 3}, {1, 2, 3}));
    cases[0].outputs.push_back(tensor_of<float>("y", DType::kFloat32, {1, 3}, {1, 2, 3}));
    CallsInFlight calls(*runtime, cases);
    calls.submit(0);
    calls.settle();
    return calls.violation();
  }
};

TEST_F(Calls, OneThatCompletesOnceIsFine) {
  EXPECT_EQ(said_of([](const assay_submit_request& request, assay_error*) {
              finish(request);
              return ASSAY_OK;
            }),
            "");
}

TEST_F(Calls, SecondCompletionIsFound) {
  EXPECT_THAT(said_of([](const assay_submit_request& request, assay_error*) {
                finish(request);
                request.complete(request.completion_context, request.ticket, ASSAY_OK, nullptr);
                return ASSAY_OK;
              }),
              HasSubstr("was reported twice"));
}

TEST_F(Calls, CompletionThatNeverComesIsFound) {
  EXPECT_THAT(said_of([](const assay_submit_request&, assay_error*) { return ASSAY_OK; }),
              HasSubstr("was never completed"));
}

TEST_F(Calls, RefusedCallThatCompletesIsFound) {
  EXPECT_THAT(said_of([](const assay_submit_request& request, assay_error* error) {
                finish(request);
                return assay_set_error(error, ASSAY_UNAVAILABLE, "no");
              }),
              HasSubstr("was refused and completed too"));
}

TEST_F(Calls, TicketOfNobodyIsFound) {
  EXPECT_THAT(said_of([](const assay_submit_request& request, assay_error*) {
                request.complete(request.completion_context, 7, ASSAY_OK, nullptr);
                finish(request);
                return ASSAY_OK;
              }),
              HasSubstr("call 7 was reported, and there is no such call"));
}

TEST_F(Calls, ChangedInputIsFound) {
  EXPECT_THAT(said_of([](const assay_submit_request& request, assay_error*) {
                static_cast<float*>(request.inputs[0].data)[1] = 9;
                finish(request);
                return ASSAY_OK;
              }),
              HasSubstr("input of call"));
}

TEST_F(Calls, OutputThatIsNotThereAtCompletionIsFound) {
  EXPECT_THAT(said_of([](const assay_submit_request& request, assay_error*) {
                request.complete(request.completion_context, request.ticket, ASSAY_OK, nullptr);
                return ASSAY_OK;
              }),
              HasSubstr("without all outputs"));
}

}  // namespace
}  // namespace assay::drill
