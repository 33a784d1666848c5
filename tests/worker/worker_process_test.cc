// A real worker, started, called and ended as the controller does it, with the doubles in it.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/testing.h"
#include "base/utf8.h"
#include "host/host_test_support.h"
#include "host/manifest.h"
#include "loadgen/record.h"
#include "worker/client.h"
#include "worker/layout.h"
#include "worker/shared_memory.h"

namespace assay::worker {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using host::testing::ScratchFolder;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

const fs::path kDoubles = ASSAY_BINARY_DIR "/test_backends";
const fs::path kBackends = ASSAY_BINARY_DIR "/backends";
constexpr std::chrono::seconds kPatience{120};  // for what does come

std::string read_all(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// FAULTY as it is without configs: x: FLOAT32 [?,4] -> y: FLOAT32 [?,10], where element k of a
// sample is (k + 1) times the mean of its input's bytes.
ArenaLayout faulty_layout() {
  return {.inputs = {{"x", DType::kFloat32, {2, 4}}},
          .outputs = {{"y", DType::kFloat32, {-1, 10}}},
          .input_slots = 2,
          .output_slots = 66,
          .output_capacity_bytes = 4096};
}

class WorkerProcess : public ::testing::Test {
 protected:
  ClientSettings settings(const std::string& fault) const {
    return {.program = ASSAY_BINARY_DIR "/bin/assay-worker",
            .log = folder_.path() / "worker.log",
            // A sanitizer would take a signal for itself and make an exit code of it.
            .environment = {{"ASSAY_FAULT", fault},
                            {"ASAN_OPTIONS", "handle_segv=0"},
                            {"TSAN_OPTIONS", "handle_segv=0"}}};
  }

  static Result<Json> call(Client& client, const std::string& op, Json arguments = Json::object(),
                           int passed_fd = -1) {
    return client.call(op, std::move(arguments), {.timeout = kPatience, .passed_fd = passed_fd});
  }

  // A worker with a backend opened in it.
  static Client open(ClientSettings chosen, const std::string& hardware = "FAULTY",
                     const fs::path& backends = kDoubles) {
    PhaseEnd end;
    Client client = Client::start(std::move(chosen), end).value();
    const host::Manifest manifest = host::find_backend(hardware, {backends}).value();
    EXPECT_THAT(call(client, "open", {{"library", manifest.library_path().string()}}), IsOk());
    return client;
  }

  static Result<Json> load(Client& client, std::int64_t batch_size = 2,
                           const std::vector<TensorSpec>& inputs = faulty_layout().inputs,
                           const std::string& configs = "{}") {
    return call(client, "load",
                {{"configs", configs},
                 {"compile_result", ""},
                 {"artifact_folder", "/"},
                 {"batch_size", batch_size},
                 {"caller_inputs", to_json(inputs)}});
  }

  Result<Json> compile(Client& client, const CallOptions& options) const {
    fs::create_directories(folder_.path() / "artifact");
    return client.call(
        "compile", {{"configs", "{}"}, {"artifact_folder", (folder_.path() / "artifact").string()}},
        options);
  }

  // Gives the worker an arena whose input bytes are all 1: every sample's output is 1, 2, ..., 10.
  void share_arena(Client& client, const ArenaLayout& layout) {
    arena_ = SharedMemory::create(arena_bytes(layout).value()).value();
    std::memset(arena_.bytes().data(), 1,
                layout.input_slots * input_slot_bytes(layout.inputs).value());
    ASSERT_THAT(call(client, "arena", {{"layout", to_json(layout)}}, arena_.fd()), IsOk());
  }

  void expect_outputs(const ArenaLayout& layout, std::size_t slot) const {
    const auto outputs = read_output_slot(layout, output_slot(layout, arena_.bytes(), slot));
    ASSERT_THAT(outputs, IsOk()) << "slot " << slot;
    const auto values = outputs->front().as<float>();
    ASSERT_EQ(values.size(), 20U);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], static_cast<float>(i % 10 + 1));
    }
  }

  Result<Json> measure(Client& client, std::uint32_t clients, std::uint64_t iterations,
                       std::size_t kept) {
    const std::uint64_t capacity = 1000;
    const std::size_t bytes = loadgen::required_bytes({clients, capacity}).value();
    record_ = SharedMemory::create(bytes).value();
    EXPECT_THAT(call(client, "record", {{"bytes", bytes}}, record_.fd()), IsOk());
    return call(client, "measure",
                {{"clients", clients},
                 {"iterations", iterations},
                 {"exact_iterations", true},
                 {"min_samples", 0},
                 {"min_duration_ns", 0},
                 {"max_duration_ns", 60'000'000'000},
                 {"seed", 1},
                 {"repeat_input", false},
                 {"skip_warmup", true},
                 {"exact_capacity", capacity},
                 {"kept_per_client", kept}});
  }

  // The end of a phase that loads, calls nothing and closes.
  PhaseEnd end_of_close(const std::string& fault, milliseconds timeout) const {
    ClientSettings chosen = settings("close:" + fault);
    chosen.close_timeout = timeout;
    Client client = open(std::move(chosen));
    EXPECT_THAT(load(client), IsOk());
    return client.finish(ok_status());
  }

  ScratchFolder folder_;
  SharedMemory arena_;
  SharedMemory record_;
};

TEST_F(WorkerProcess, CompilerOperationsAnswer) {
  Client client = open(settings(""));
  EXPECT_TRUE(call(client, "probe").value()["probe"]["available"].get<bool>());
  EXPECT_EQ(call(client, "interact_profile", {{"configs", "{}"}}).value()["profile"], "");
  const auto changed =
      call(client, "pre_optimize", {{"configs", "{}"}, {"folder", folder_.path().string()}});
  EXPECT_TRUE(changed.value()["configs"].is_null());
  EXPECT_TRUE(call(client, "best_batch_size").value().contains("batch_sizes"));
  const Result<Json> compiled = compile(client, {.timeout = kPatience});
  ASSERT_THAT(compiled, IsOk());
  EXPECT_THAT((*compiled)["result"].get<std::string>(), HasSubstr("nothing.txt"));
  EXPECT_TRUE(fs::exists(folder_.path() / "artifact" / "nothing.txt"));
  EXPECT_TRUE(client.finish(ok_status()).ok());
  EXPECT_GT(client.peak_rss_bytes(), 0);
}

TEST_F(WorkerProcess, RuntimeOperationsAnswer) {
  Client client = open(settings(""));
  const Result<Json> loaded = load(client);
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ((*loaded)["thread_rule"], "one_call");
  const ArenaLayout layout = faulty_layout();
  share_arena(client, layout);
  ASSERT_THAT(call(client, "infer", {{"slot", 1}}), IsOk());
  expect_outputs(layout, 1);

  const Result<Json> measured = measure(client, 2, 50, 8);
  ASSERT_THAT(measured, IsOk());
  const auto record = loadgen::parse(record_.bytes());
  ASSERT_THAT(record, IsOk());
  EXPECT_EQ(record->clients[0].successes + record->clients[1].successes, 100U);
  EXPECT_GT((*measured)["kept"].size(), 0U);
  for (const Json& kept : (*measured)["kept"]) {
    expect_outputs(layout, kept["output_slot"].get<std::size_t>());
  }
  EXPECT_TRUE(client.finish(ok_status()).ok());
}

TEST_F(WorkerProcess, ExerciseFindsNoDifferenceInAHealthyBackend) {
  Client client = open(settings(""));
  ASSERT_THAT(load(client), IsOk());
  share_arena(client, faulty_layout());
  Json arguments{{"calls", 2},     {"clients", 1},
                 {"seed", 1},      {"max_duration_ns", 60'000'000'000},
                 {"record", true}, {"in_order", true}};
  ASSERT_THAT(call(client, "exercise", arguments), IsOk());
  arguments["record"] = arguments["in_order"] = false;
  arguments["calls"] = 20;
  const Result<Json> counted = call(client, "exercise", arguments);
  ASSERT_THAT(counted, IsOk());
  EXPECT_TRUE(counted->contains("differences"));
  EXPECT_TRUE(client.finish(ok_status()).ok());
}

TEST_F(WorkerProcess, HarnessIsMeasuredOnTheNullBackend) {
  const ArenaLayout layout{.inputs = {{"x", DType::kFloat32, {1, 1}}},
                           .outputs = {{"y", DType::kFloat32, {-1, 1}}},
                           .input_slots = 1,
                           .output_slots = 1,
                           .output_capacity_bytes = 64};
  Client client = open(settings(""), "NULL", kBackends);
  ASSERT_THAT(load(client, 1, layout.inputs), IsOk());
  share_arena(client, layout);
  const Result<Json> answer = call(client, "harness");
  ASSERT_THAT(answer, IsOk());
  EXPECT_GT((*answer)["harness"]["overhead_ns_p50"].get<double>(), 0);
  EXPECT_TRUE(client.finish(ok_status()).ok());
}

// What loses nothing is converted unasked; float64 to float32 only where the model info asks for
// what it loses.
TEST_F(WorkerProcess, LossyConversionIsDoneOnlyWhereTheModelInfoAsksForIt) {
  const std::vector<TensorSpec> doubles = {{"x", DType::kFloat64, {2, 4}}};
  Client client = open(settings(""));
  EXPECT_THAT(load(client, 2, doubles),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("would lose values")));
  const Result<Json> loaded =
      load(client, 2, doubles, R"({"model_info": {"lossy_conversion": true}})");
  ASSERT_THAT(loaded, IsOk());
  EXPECT_TRUE((*loaded)["conversions"][0]["lossy"].get<bool>());
}

// ---- the end of a worker

TEST_F(WorkerProcess, WhatHappensInCloseIsThePhasesEnd) {
  const PhaseEnd crashed = end_of_close("segfault", kPatience);
  EXPECT_EQ(crashed.outcome, Outcome::kCrashed);
  EXPECT_THAT(crashed.reason, AllOf(StartsWith("in close: "), HasSubstr("SIGSEGV")));
  const PhaseEnd left = end_of_close("exit3", kPatience);
  EXPECT_EQ(left.outcome, Outcome::kCrashed);
  EXPECT_THAT(left.reason, AllOf(StartsWith("in close: "), HasSubstr("code 3")));
  const PhaseEnd failed = end_of_close("error", kPatience);
  EXPECT_EQ(failed.outcome, Outcome::kFailed);
  EXPECT_THAT(failed.reason, AllOf(StartsWith("in close: "), HasSubstr("failed on demand")));
  const PhaseEnd hung = end_of_close("hang", milliseconds(300));
  EXPECT_EQ(hung.outcome, Outcome::kTimedOut);
  EXPECT_THAT(hung.reason, HasSubstr("in close"));
}

TEST_F(WorkerProcess, AnEarlierEndIsNotHiddenByOneInClose) {
  Client client = open(settings("close:segfault"));
  ASSERT_THAT(load(client), IsOk());
  const PhaseEnd end = client.finish(data_loss("something else"));
  EXPECT_EQ(end.outcome, Outcome::kFailed);
  EXPECT_THAT(end.reason, HasSubstr("something else"));
}

TEST_F(WorkerProcess, LastWordsThatAreNoTextBecomeText) {
  Client client = open(settings("load:mumble"));
  EXPECT_THAT(load(client), StatusIs(StatusCode::kAborted, HasSubstr("SIGABRT")));
  const PhaseEnd end = client.finish(cancelled(""));
  EXPECT_EQ(end.outcome, Outcome::kCrashed);
  EXPECT_TRUE(is_valid_utf8(end.reason)) << end.reason;
  EXPECT_THAT(end.reason, HasSubstr("\xC3\xA4"));
}

TEST_F(WorkerProcess, ProgramThatLeavesAtOnceHasCrashed) {
  ClientSettings chosen = settings("");
  chosen.program = "/bin/false";
  PhaseEnd end;
  EXPECT_THAT(Client::start(std::move(chosen), end),
              StatusIs(StatusCode::kAborted, HasSubstr("code 1")));
  EXPECT_EQ(end.outcome, Outcome::kCrashed);
}

TEST_F(WorkerProcess, MissingProgramIsAFailure) {
  ClientSettings chosen = settings("");
  chosen.program = "/nowhere/assay-worker";
  PhaseEnd end;
  EXPECT_THAT(Client::start(std::move(chosen), end),
              StatusIs(StatusCode::kNotFound, HasSubstr("")));
  EXPECT_EQ(end.outcome, Outcome::kFailed);
}

TEST_F(WorkerProcess, InterruptionAtTheStartIsNoCrash) {
  const std::atomic<bool> stop{true};
  ClientSettings chosen = settings("");
  chosen.stop = &stop;
  PhaseEnd end;
  EXPECT_THAT(Client::start(std::move(chosen), end),
              StatusIs(StatusCode::kCancelled, HasSubstr("hello")));
  EXPECT_EQ(end.outcome, Outcome::kSkipped);
}

// A worker that asks and is gone before the answer reaches it.
TEST_F(WorkerProcess, DeathBeforeTheReplyToAnEventIsTold) {
  const fs::path program = folder_.path() / "asker";
  std::ofstream(program)
      << "#!/bin/sh\n"
         "dd bs=65536 count=1 <&3 >/dev/null 2>&1\n"  // the request, so that it was sent
         "printf '\\002\\000\\000\\000{}' >&3\n"
         "printf '\\040\\000\\000\\000{\"event\":\"x\",\"wants_reply\":true}' >&3\n"
         "exit 9\n";
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  ClientSettings chosen = settings("");
  chosen.program = program;
  PhaseEnd end;
  Client client = Client::start(std::move(chosen), end).value();
  client.set_on_event([&client](const Json&) {
    siginfo_t gone{};
    ::waitid(P_PID, static_cast<id_t>(client.pid()), &gone, WEXITED | WNOWAIT);
    return Json::object();
  });
  const Result<Json> answer = client.receive("ask", {.timeout = kPatience});
  EXPECT_THAT(answer, StatusIs(StatusCode::kAborted, HasSubstr("code 9")));
  EXPECT_EQ(client.finish(answer.status()).outcome, Outcome::kCrashed);
}

// ---- watches, while the worker talks all the time

TEST_F(WorkerProcess, DeadlineHoldsWhileMessagesCome) {
  Client client = open(settings("compile:chatter"));
  EXPECT_THAT(compile(client, {.timeout = milliseconds(300)}),
              StatusIs(StatusCode::kAborted, HasSubstr("took longer")));
  EXPECT_EQ(client.finish(cancelled("")).outcome, Outcome::kTimedOut);
}

TEST_F(WorkerProcess, InterruptionHoldsWhileMessagesCome) {
  std::atomic<bool> stop{false};
  ClientSettings chosen = settings("compile:chatter");
  chosen.stop = &stop;
  chosen.close_grace = milliseconds(0);
  Client client = open(std::move(chosen));
  int events = 0;
  client.set_on_event([&](const Json&) {
    stop = ++events >= 10;
    return Json::object();
  });
  const Result<Json> answer = compile(client, {.timeout = kPatience});
  EXPECT_THAT(answer, StatusIs(StatusCode::kCancelled, HasSubstr("compile")));
  EXPECT_EQ(events, 10);
  EXPECT_EQ(client.finish(answer.status()).outcome, Outcome::kSkipped);
}

TEST_F(WorkerProcess, TicksComeWhileMessagesCome) {
  Client client = open(settings("compile:chatter"));
  int ticks = 0;
  EXPECT_FALSE(compile(client, {.timeout = milliseconds(500), .tick = [&] { ++ticks; }}).ok());
  EXPECT_GE(ticks, 1);
}

// ---- memory and descendants

constexpr std::int64_t kMemoryLimit = 600'000'000;  // more than a worker under a sanitizer holds

TEST_F(WorkerProcess, MemoryIsLimited) {
  ClientSettings chosen = settings("compile:eat_memory");
  chosen.memory_limit_bytes = kMemoryLimit;
  Client client = open(std::move(chosen));
  const Result<Json> answer = compile(client, {.timeout = kPatience});
  EXPECT_THAT(answer, StatusIs(StatusCode::kAborted, HasSubstr("600 MB are allowed")));
  EXPECT_EQ(client.finish(answer.status()).outcome, Outcome::kOutOfMemory);
}

TEST_F(WorkerProcess, MemoryOfChildrenCounts) {
  ClientSettings chosen = settings("compile:child_eats_memory");
  chosen.memory_limit_bytes = kMemoryLimit;
  Client client = open(std::move(chosen));
  const Result<Json> answer = compile(client, {.timeout = kPatience});
  EXPECT_THAT(answer, StatusIs(StatusCode::kAborted, HasSubstr("600 MB are allowed")));
  EXPECT_EQ(client.finish(answer.status()).outcome, Outcome::kOutOfMemory);
}

TEST_F(WorkerProcess, KernelTakesTheWorkerFirst) {
  PhaseEnd end;
  const Client client = Client::start(settings(""), end).value();
  EXPECT_EQ(read_all(fmt::format("/proc/{}/oom_score_adj", client.pid())), "1000\n");
}

TEST_F(WorkerProcess, DaemonWithoutEnvironmentIsKilledToo) {
  Client client = open(settings("load:daemon"));
  ASSERT_THAT(load(client), IsOk());
  std::string log;
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (!log.ends_with("\n") && std::chrono::steady_clock::now() < limit) {
    log = read_all(folder_.path() / "worker.log");
  }
  ASSERT_THAT(log, HasSubstr("daemon "));
  const pid_t daemon = static_cast<pid_t>(std::stol(log.substr(log.find("daemon ") + 7)));
  ASSERT_EQ(::kill(daemon, 0), 0);
  EXPECT_TRUE(client.finish(ok_status()).ok());
  EXPECT_EQ(::kill(daemon, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

}  // namespace
}  // namespace assay::worker
