// The timed path as a run takes it: load generator, target, output slots, conversion, backend. It
// allocates nothing, locks nothing but the one lock of a backend that takes one call at a time, and
// makes no system call but the clock.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <set>
#include <vector>

#include "base/testing.h"
#include "host/test_plugin.h"
#include "loadgen/closed_loop.h"
#include "loadgen/hot_loop_test_support.h"
#include "worker/backend_target.h"

namespace assay::worker {
namespace {

using ::assay::testing::IsOk;
using host::testing::Script;
using loadgen::testing::CountingTarget;
using loadgen::testing::Pages;

constexpr std::size_t kInputSlots = 3;
constexpr std::size_t kKept = 4;  // outputs per client

// A loaded backend and all that a target needs.
struct Loaded {
  Loaded(const host::Library& library, const std::vector<TensorSpec>& caller, bool float_outputs)
      : runtime(host::RuntimeBackend::create(library).value()) {
    EXPECT_THAT(runtime.load({}), IsOk());
    adaptation = host::plan_adaptation(caller, runtime.signature(), host::AdaptPolicy::kLossless,
                                       float_outputs)
                     .value();
    const host::AdaptedRuntime adapted(runtime, adaptation);
    layout = {.inputs = caller,
              .outputs = adapted.output_specs(),
              .input_slots = kInputSlots,
              .output_slots = 2 * (kKept + 1),
              .output_capacity_bytes = 4096};
    arena.resize(arena_bytes(layout).value() / sizeof(Line));
  }

  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(arena)); }
  BackendTarget target(std::uint32_t clients) {
    return BackendTarget(runtime, layout, bytes(), loadgen::QueryOrder::shuffled(kInputSlots, 1),
                         {clients, kKept, 1, adaptation});
  }

  struct alignas(kArenaAlignment) Line {
    std::byte bytes[kArenaAlignment];
  };
  host::RuntimeBackend runtime;
  host::Adaptation adaptation;
  ArenaLayout layout;
  std::vector<Line> arena;
};

host::Library null_backend() {
  return host::Library::open(ASSAY_BINARY_DIR "/backends/NULL/libassay_backend_null.so").value();
}

// What one timed query costs: allocations of all queries, and locks for each.
struct Cost {
  std::uint64_t allocations = 0;
  double locks_per_query = 0;
  std::uint64_t queries = 0;
};

Cost measure(Loaded& loaded, std::uint32_t clients) {
  const loadgen::RecordShape shape{.clients = clients, .exact_capacity = 1000};
  Pages pages(shape);
  loadgen::Recorder recorder = loadgen::Recorder::create(pages.span(), shape).value();
  BackendTarget target = loaded.target(clients);
  CountingTarget counting(clients, &target);
  loadgen::ClosedLoopSettings settings;
  settings.clients = clients;
  settings.iterations = 2000;
  settings.min_duration_ns = 0;
  settings.warmup = {.floor_calls = 1, .floor_ns = 0, .cap_ns = 5'000'000, .block_ns = 500'000};
  EXPECT_THAT(loadgen::run_closed_loop(counting, settings, recorder, {}), IsOk());
  Cost cost;
  std::uint64_t locks = 0;
  for (const CountingTarget::Seen& seen : counting.seen()) {
    cost.allocations += seen.last.allocations - seen.first.allocations;
    locks += seen.last.locks - seen.first.locks;
    cost.queries += seen.queries;
  }
  EXPECT_GE(cost.queries, clients * settings.iterations);
  cost.locks_per_query = static_cast<double>(locks) / static_cast<double>(cost.queries);
  return cost;
}

TEST(TimedPath, AllocatesAndLocksNothing) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizers own malloc";
  Loaded loaded(null_backend(), {{"x", DType::kFloat32, {1, 1}}}, false);
  const Cost cost = measure(loaded, 2);
  EXPECT_EQ(cost.allocations, 0U);
  EXPECT_EQ(cost.locks_per_query, 0);
}

TEST(TimedPath, ConvertingInputsAllocatesAndLocksNothing) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizers own malloc";
  Loaded loaded(null_backend(), {{"x", DType::kUInt8, {1, 1}}}, false);
  ASSERT_TRUE(loaded.adaptation.inputs[0].converts());
  const Cost cost = measure(loaded, 2);
  EXPECT_EQ(cost.allocations, 0U);
  EXPECT_EQ(cost.locks_per_query, 0);
}

// x: FLOAT16 from the caller's FLOAT16, y: FLOAT16 that the caller gets as FLOAT32.
TEST(TimedPath, ConvertingOutputsAllocatesNothing) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizers own malloc";
  Script::reset();
  Script::get().thread_rule = ASSAY_THREADS_ANY;
  Script::get().describe = [](const assay_signature_sink& sink) {
    const std::int64_t shape[2] = {-1, 3};
    assay_tensor tensor{};
    tensor.dtype = ASSAY_FLOAT16;
    tensor.rank = 2;
    tensor.shape = shape;
    tensor.name = "x";
    sink.add(sink.context, ASSAY_INPUT, &tensor);
    tensor.name = "y";
    sink.add(sink.context, ASSAY_OUTPUT, &tensor);
  };
  Script::get().infer = [](const assay_infer_request& request, assay_error* error) {
    std::int64_t shape[2];
    assay_tensor y = host::testing::y_of(shape, request.inputs[0].shape[0]);
    y.dtype = ASSAY_FLOAT16;
    y.size_bytes /= 2;
    return request.outputs->alloc_output(request.outputs->context, 0, &y, error);
  };
  Loaded loaded(host::Library::from_entry(&Script::entry, "script").value(),
                {{"x", DType::kFloat16, {2, 3}}}, true);
  ASSERT_TRUE(loaded.adaptation.outputs[0].converts());
  EXPECT_EQ(measure(loaded, 1).allocations, 0U);
}

// FLOAT32 [?,4], one call at a time.
TEST(TimedPath, OneLockPerQueryWhereCallsMayNotOverlap) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizers own malloc";
  const auto library =
      host::Library::open(ASSAY_BINARY_DIR "/test_backends/FAULTY/libassay_backend_faulty.so");
  Loaded loaded(library.value(), {{"x", DType::kFloat32, {1, 4}}}, false);
  ASSERT_EQ(loaded.runtime.thread_rule(), host::ThreadRule::kOneCall);
  EXPECT_DOUBLE_EQ(measure(loaded, 2).locks_per_query, 1);
  EXPECT_EQ(measure(loaded, 1).locks_per_query, 0);
}

// A slot whose call failed holds neither what it held before nor what the call should have given.
TEST(TimedPath, CallsThatFailAreNeverKept) {
  Script::reset();
  int calls = 0;
  Script::get().infer = [&calls](const assay_infer_request& request, assay_error* error) {
    if (++calls % 5 == 0) return assay_set_error(error, ASSAY_UNAVAILABLE, "every fifth");
    return host::testing::copy_x_to_y(request, error);
  };
  Loaded loaded(host::Library::from_entry(&Script::entry, "script").value(),
                {{"x", DType::kFloat32, {2, 3}}}, false);
  BackendTarget target = loaded.target(1);
  std::set<std::uint64_t> failed;
  for (std::uint64_t query = 0; query < 60; ++query) {
    if (!target.issue(0, query).ok()) failed.insert(query);
    for (const KeptCall& kept : target.kept_calls()) {
      EXPECT_FALSE(failed.contains(kept.query)) << kept.query;
      const auto slot = output_slot(loaded.layout, loaded.bytes(), kept.output_slot);
      EXPECT_THAT(read_output_slot(loaded.layout, slot), IsOk()) << kept.query;
    }
  }
  EXPECT_EQ(failed.size(), 12U);
  EXPECT_FALSE(target.kept_calls().empty());
}

TEST(TimedPath, MakesNoSystemCallButTheClock) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizers make system calls of their own";
  Loaded loaded(null_backend(), {{"x", DType::kUInt8, {1, 1}}}, false);
  BackendTarget target = loaded.target(1);
  ASSERT_THAT(target.issue(0, loadgen::kUntimedQueryBase), IsOk());  // as the cold call does
  const int status = loadgen::testing::run_watched(target);
  if (WIFEXITED(status) && WEXITSTATUS(status) == loadgen::testing::kNoSeccomp) {
    GTEST_SKIP() << "no seccomp here";
  }
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace assay::worker
