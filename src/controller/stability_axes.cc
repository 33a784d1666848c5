#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>

#include "controller/stability_matrix.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

using workload::StabilityAxis;

constexpr std::uint32_t kCallers = 4;
constexpr std::size_t kMostRearranged = 16;  // batches
constexpr std::uint64_t kSameInputCalls = 32;
constexpr const char* kLivesInProcess =
    "not testable: what the backend compiled lives only in the process that compiled it, since it "
    "cannot be pickled";

// glibc fills what malloc hands out with a byte made of this: memory that is read before it is
// written then differs from process to process.
Environment filled_memory(std::uint64_t i) {
  return {{"MALLOC_PERTURB_", std::to_string(1 + i * 37 % 254)}};
}

std::vector<std::uint64_t> in_order(const KnownBatches& batches) {
  std::vector<std::uint64_t> order(batches.samples.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  return order;
}

}  // namespace

Status StabilityMatrix::run(StabilityAxis axis) {
  if (wanted(axis) == 0) return ok_status();
  at(axis).why.clear();
  axis_start_ns_ = now_ns();
  switch (axis) {
    case StabilityAxis::kRepeat:
      return repeat();
    case StabilityAxis::kHandle:
      return handles();
    case StabilityAxis::kProcess:
      return processes();
    case StabilityAxis::kCompilation:
      return compilations();
    case StabilityAxis::kPosition:
      return positions();
    case StabilityAxis::kNeighbours:
      return neighbours();
    case StabilityAxis::kBatchSize:
      return batch_sizes();
    case StabilityAxis::kConcurrency:
      return concurrency();
    case StabilityAxis::kAfterLoad:
      break;
  }
  return after_load();
}

Result<check::CallDifferences> StabilityMatrix::in_new_process(const std::string& name,
                                                               const CompiledModel& model,
                                                               const KnownBatches& batches,
                                                               const ExerciseCall& call,
                                                               const Environment& environment) {
  LoadedModel loaded;
  ASSIGN_OR_RETURN(Session session,
                   runner_.open_new(name, model, batches.asked_batch_size, environment, loaded));
  return exercise_and_close(session, batches, call);
}

Result<check::CallDifferences> StabilityMatrix::on_new_handle(const std::string& name,
                                                              const ExerciseCall& call) {
  LoadedModel loaded;
  ASSIGN_OR_RETURN(Session session,
                   runner_.open(name, request_->model, base_.asked_batch_size, loaded));
  return exercise_and_close(session, base_, call);
}

Result<check::CallDifferences> StabilityMatrix::exercise_and_close(Session& session,
                                                                   const KnownBatches& batches,
                                                                   const ExerciseCall& call) {
  ASSIGN_OR_RETURN(check::CallDifferences seen, runner_.exercise(session, batches, call));
  RETURN_IF_ERROR(runner_.close(session));
  return seen;
}

// Handles, processes and compilations count as one each, whatever their calls did.
void StabilityMatrix::add_unit(AxisCounts& counts, const check::CallDifferences& seen) {
  ++counts.n;
  if (seen.differing > 0) ++counts.differing;
  counts.calls.add(seen);
}

Status StabilityMatrix::repeat() {
  AxisCounts& counts = evidence_.of(StabilityAxis::kRepeat);
  ASSIGN_OR_RETURN(counts.calls, on_new_handle("repeat", {.calls = wanted(StabilityAxis::kRepeat),
                                                          .seed = request_->seed}));
  counts.n = counts.calls.calls;
  counts.differing = counts.calls.differing;
  find_first_sample(StabilityAxis::kRepeat, base_);
  return ok_status();
}

Status StabilityMatrix::handles() {
  AxisCounts& counts = evidence_.of(StabilityAxis::kHandle);
  LoadedModel loaded;
  ASSIGN_OR_RETURN(Session session,
                   runner_.open("handle", request_->model, base_.asked_batch_size, loaded));
  const std::uint64_t calls = base_.samples.size();
  for (std::uint64_t i = 0; i < wanted(StabilityAxis::kHandle); ++i) {
    if (runner_.stopped() || out_of_time()) break;
    RETURN_IF_ERROR(runner_.reload(session, request_->model, base_.asked_batch_size));
    // In the order of the first handle, and in others: an answer may depend on the calls before.
    ExerciseCall call{.calls = calls, .seed = request_->seed + 1 + i};
    if (i % 2 == 0) call.order = in_order(base_);
    ASSIGN_OR_RETURN(const check::CallDifferences seen, runner_.exercise(session, base_, call));
    add_unit(counts, seen);
  }
  RETURN_IF_ERROR(runner_.close(session));
  find_first_sample(StabilityAxis::kHandle, base_);
  return ok_status();
}

Status StabilityMatrix::processes() {
  if (request_->lives_in_process) return not_tested(StabilityAxis::kProcess, kLivesInProcess);
  AxisCounts& counts = evidence_.of(StabilityAxis::kProcess);
  for (std::uint64_t i = 0; i < wanted(StabilityAxis::kProcess); ++i) {
    if (runner_.stopped() || out_of_time()) break;
    ASSIGN_OR_RETURN(const check::CallDifferences seen,
                     in_new_process("process", request_->model, base_,
                                    {.calls = base_.samples.size(), .order = in_order(base_)},
                                    filled_memory(i)));
    add_unit(counts, seen);
    observer_->progress(i + 1, wanted(StabilityAxis::kProcess), "processes");
  }
  find_first_sample(StabilityAxis::kProcess, base_);
  return ok_status();
}

// Compiles with fresh caches and HOME, and runs the artifact in a process of its own; one that
// differs is run in two more, to tell the compiler from the process.
Status StabilityMatrix::one_compilation(std::uint64_t i, AxisCounts& counts) {
  const fs::path folder = request_->work_folder / "compilation";
  const fs::path home = request_->work_folder / "home";
  std::error_code error;
  fs::remove_all(home, error);
  if (!fs::create_directories(home, error)) {
    return errno_status(error.value(), "cannot make " + home.string());
  }
  host::Manifest manifest = request_->manifest;
  for (const char* variable : {"HOME", "XDG_CACHE_HOME", "TMPDIR"}) {
    manifest.environment[variable] = home.string();
  }
  CompileRequest compile = request_->compile;
  compile.artifact_folder = folder;
  RunObserver quiet;
  const PhaseResult<Compiled> compiled =
      compile_model(runner_.unshared(), manifest, compile, quiet);
  if (!compiled.value) {
    return unavailable(fmt::format("compilation {}: {}", i + 1, compiled.record.end.reason));
  }
  const CompiledModel model{compile.configs, compiled.value->compile_result, folder};
  const ExerciseCall call{.calls = base_.samples.size(), .order = in_order(base_)};
  ASSIGN_OR_RETURN(const check::CallDifferences seen,
                   in_new_process("compilation", model, base_, call, {}));
  add_unit(counts, seen);
  if (seen.differing > 0 && evidence_.artifact_consistent.value_or(true)) {
    for (int again = 0; again < 2; ++again) {
      ASSIGN_OR_RETURN(const check::CallDifferences once_more,
                       in_new_process("compilation", model, base_, call, {}));
      evidence_.artifact_consistent =
          evidence_.artifact_consistent.value_or(true) && once_more.call_crcs == seen.call_crcs;
    }
  }
  return ok_status();
}

Status StabilityMatrix::compilations() {
  if (request_->lives_in_process) return not_tested(StabilityAxis::kCompilation, kLivesInProcess);
  AxisCounts& counts = evidence_.of(StabilityAxis::kCompilation);
  const std::uint64_t n = wanted(StabilityAxis::kCompilation);
  Status status;
  for (std::uint64_t i = 0; i < n && status.ok(); ++i) {
    if (runner_.stopped() || out_of_time()) break;
    status = one_compilation(i, counts);
    observer_->progress(i + 1, n, "compilations");
  }
  std::error_code ignored;
  fs::remove_all(request_->work_folder, ignored);
  find_first_sample(StabilityAxis::kCompilation, base_);
  return status;
}

// Runs batches of `wide_`'s samples in another arrangement.
Status StabilityMatrix::rearranged(StabilityAxis axis, const Arrangement& samples) {
  AxisCounts& counts = evidence_.of(axis);
  LoadedModel loaded;
  ASSIGN_OR_RETURN(Session session, runner_.open(std::string(workload::name_of(axis)),
                                                 request_->model, wide_->asked_batch_size, loaded));
  ASSIGN_OR_RETURN(KnownBatches batches, runner_.decode(loaded, samples));
  RETURN_IF_ERROR(assemble_expected(*wide_, batches));
  ASSIGN_OR_RETURN(counts.calls, runner_.exercise(session, batches,
                                                  {.calls = wanted(axis), .seed = request_->seed}));
  RETURN_IF_ERROR(runner_.close(session));
  counts.n = counts.calls.calls;
  counts.differing = counts.calls.differing;
  counts.only_last_row = only_last_row(counts.calls, batches);
  find_first_sample(axis, batches);
  return ok_status();
}

Status StabilityMatrix::positions() {
  RETURN_IF_ERROR(begin_wide());
  if (!wide_) return not_tested(StabilityAxis::kPosition, no_wide_);
  const auto rows = static_cast<std::size_t>(wide_->batch_size);
  const std::size_t slots = wide_->samples.size();
  Arrangement samples;
  for (std::size_t i = 0; i < std::min<std::size_t>(kMostRearranged, slots * (rows - 1)); ++i) {
    std::vector<std::size_t> batch = wide_->samples[i % slots];
    std::rotate(batch.begin(),
                batch.end() - static_cast<std::ptrdiff_t>(1 + i / slots % (rows - 1)), batch.end());
    samples.push_back(std::move(batch));
  }
  return rearranged(StabilityAxis::kPosition, samples);
}

Status StabilityMatrix::neighbours() {
  RETURN_IF_ERROR(begin_wide());
  if (!wide_) return not_tested(StabilityAxis::kNeighbours, no_wide_);
  if (wide_->samples.size() < 2) {
    return not_tested(StabilityAxis::kNeighbours, "there are fewer than two batches of samples");
  }
  Arrangement samples;
  for (std::size_t i = 0; i < kMostRearranged; ++i) {
    std::vector<std::size_t> batch;
    batch.reserve(wide_->samples[0].size());
    for (std::size_t row = 0; row < wide_->samples[0].size(); ++row) {
      batch.push_back(wide_->samples[random_.below(wide_->samples.size())][row]);
    }
    samples.push_back(std::move(batch));
  }
  return rearranged(StabilityAxis::kNeighbours, samples);
}

Status StabilityMatrix::batch_sizes() {
  AxisCounts& counts = evidence_.of(StabilityAxis::kBatchSize);
  std::set<std::int64_t> others(request_->batch_sizes.begin(), request_->batch_sizes.end());
  others.erase(base_.asked_batch_size);
  if (others.empty()) {
    return not_tested(StabilityAxis::kBatchSize, "one batch size is evaluated");
  }
  std::vector<std::size_t> known;
  for (const auto& batch : base_.samples) known.insert(known.end(), batch.begin(), batch.end());
  const std::uint64_t each =
      std::max<std::uint64_t>(wanted(StabilityAxis::kBatchSize) / others.size(), 1);
  for (const std::int64_t size : others) {
    LoadedModel loaded;
    ASSIGN_OR_RETURN(Session session, runner_.open("batch-size", request_->model, size, loaded));
    Arrangement samples(2);
    for (auto& batch : samples) {
      for (std::int64_t row = 0; row < loaded.batch_size; ++row) {
        batch.push_back(known[random_.below(known.size())]);
      }
    }
    ASSIGN_OR_RETURN(KnownBatches batches, runner_.decode(loaded, std::move(samples)));
    RETURN_IF_ERROR(assemble_expected(base_, batches));
    ASSIGN_OR_RETURN(const check::CallDifferences seen,
                     runner_.exercise(session, batches, {.calls = each, .seed = request_->seed}));
    RETURN_IF_ERROR(runner_.close(session));
    counts.calls.add(seen);
    counts.n += seen.calls;
    counts.differing += seen.differing;
    find_first_sample(StabilityAxis::kBatchSize, batches);
  }
  return ok_status();
}

Status StabilityMatrix::concurrency() {
  if (!many_callers_) {
    return not_tested(StabilityAxis::kConcurrency, "the backend takes one call at a time");
  }
  AxisCounts& counts = evidence_.of(StabilityAxis::kConcurrency);
  ASSIGN_OR_RETURN(counts.calls,
                   on_new_handle("concurrency", {.calls = wanted(StabilityAxis::kConcurrency),
                                                 .callers = kCallers,
                                                 .seed = request_->seed}));
  counts.n = counts.calls.calls;
  counts.differing = counts.calls.differing;
  find_first_sample(StabilityAxis::kConcurrency, base_);
  return ok_status();
}

Status StabilityMatrix::after_load() {
  AxisCounts& counts = evidence_.of(StabilityAxis::kAfterLoad);
  LoadedModel loaded;
  ASSIGN_OR_RETURN(Session session,
                   runner_.open("after-load", request_->model, base_.asked_batch_size, loaded));
  const ExerciseCall load{.calls = UINT64_MAX / 2,
                          .callers = many_callers_ ? kCallers : 1,
                          .seed = request_->seed,
                          .max_seconds = request_->budget.load_seconds};
  RETURN_IF_ERROR(runner_.exercise(session, base_, load).status());
  ASSIGN_OR_RETURN(counts.calls, runner_.exercise(session, base_,
                                                  {.calls = wanted(StabilityAxis::kAfterLoad),
                                                   .seed = request_->seed + 1}));
  RETURN_IF_ERROR(runner_.close(session));
  counts.n = counts.calls.calls;
  counts.differing = counts.calls.differing;
  find_first_sample(StabilityAxis::kAfterLoad, base_);
  return ok_status();
}

Status StabilityMatrix::diagnose() {
  const bool any = std::ranges::any_of(
      evidence_.axes, [](const AxisCounts& counts) { return counts.differing > 0; });
  if (!any || base_.samples.size() < 3 || request_->lives_in_process) return ok_status();
  ASSIGN_OR_RETURN(const auto once, runner_.replay("replay", base_, {0, 2}, filled_memory(3)));
  ASSIGN_OR_RETURN(const auto again, runner_.replay("replay", base_, {0, 2}, filled_memory(3)));
  ASSIGN_OR_RETURN(const auto other, runner_.replay("replay", base_, {1, 2}, filled_memory(3)));
  ASSIGN_OR_RETURN(const auto filled, runner_.replay("replay", base_, {0, 2}, filled_memory(4)));
  ASSIGN_OR_RETURN(const auto same,
                   runner_.replay("replay", base_, std::vector<std::uint64_t>(kSameInputCalls, 0),
                                  filled_memory(3)));
  if (once.size() != 2 || again.size() != 2 || other.size() != 2 || same.size() < 2) {
    return ok_status();
  }
  evidence_.replay_agrees = once == again;
  evidence_.earlier_input_matters = once[1] != other[1];
  evidence_.fresh_memory_matters = once != filled;
  evidence_.same_input_agrees =
      std::all_of(same.begin() + 1, same.end(), [&](std::uint32_t crc) { return crc == same[1]; });
  return ok_status();
}

}  // namespace assay::controller
