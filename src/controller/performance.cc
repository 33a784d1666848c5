#include "controller/performance.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "controller/input_pool.h"
#include "controller/kept_outputs.h"
#include "controller/output_size.h"
#include "controller/round_plan.h"
#include "controller/steps.h"
#include "controller/typed_object.h"
#include "loadgen/host_watch.h"
#include "loadgen/record.h"

namespace assay::controller {
namespace {

constexpr int kMostRounds = 9;  // when rounds are added for the p99 floor
constexpr std::size_t kKeptBytes = std::size_t{256} << 20;
constexpr std::size_t kMostKept = 32;  // outputs kept per client and round
constexpr std::chrono::seconds kMeasureSlack{120};

// A round: one worker, one batch size.
struct Round {
  std::int64_t loaded_batch_size = 1;
  bool any_number_of_calls = false;
  std::vector<TensorSpec> inputs;
  loadgen::RoundInput unique;
  std::optional<loadgen::RoundInput> repeated;
  std::uint64_t distinct_inputs = 0;
  std::int64_t instance_wait_ns = 0;
  std::int64_t conversion_ns = 0;
  std::uint64_t calls = 0;
  std::optional<InterpreterLock> interpreter_lock;
  std::int64_t load_ns = 0;
};

class RowMeasurer {
 public:
  RowMeasurer(const PerformanceRequest& request, std::int64_t batch_size, RunObserver& observer)
      : request_(&request), batch_size_(batch_size), observer_(&observer) {
    row_.asked_batch_size = batch_size;
    row_.phase.name = "performance";
    row_.phase.batch_size = batch_size;
  }

  bool failed() const { return !row_.phase.end.ok(); }
  void measure_round(int number);
  bool wants_another_round() const;
  MeasuredRow finish();

 private:
  Status run_round(Session& session, int number);
  void learn_output_size();
  std::size_t output_capacity(const LoadedModel& loaded) const;
  Status fill_inputs(Session& session, Round& round, int number);
  Result<loadgen::RoundInput> measure(Session& session, Round& round, int number, bool repeat);
  std::uint64_t calls_to_come(std::uint64_t planned, int number, bool repeat) const;
  Status read_answer(Session& session, const Json& answer, Round& round, loadgen::RoundInput& input,
                     bool repeat);
  Status compare_kept(Session& session, const TypedObject& answer);
  Status keep_record(std::span<const std::byte> record, int number);
  loadgen::RowInput row_input(bool repeated) const;
  void judge_repeated();
  void judge_suspected_cache();
  void judge_end();

  const PerformanceRequest* request_;
  std::int64_t batch_size_;
  RunObserver* observer_;
  MeasuredRow row_;
  std::vector<Round> rounds_;
  std::optional<KeptOutputs> kept_;
  std::optional<BatchSplitter> splitter_;  // of this round
  std::size_t found_output_bytes_ = 0;     // of a batch; 0: the accuracy run has seen it
  std::int64_t loaded_batch_size_ = 1;
  std::uint64_t calls_done_ = 0;           // in the windows that are over
  std::vector<std::size_t> pool_samples_;  // first sample of each input slot of this round
};

void RowMeasurer::measure_round(int number) {
  const std::int64_t start_ns = now_ns();
  if (number == 0) learn_output_size();
  if (failed()) {
    row_.phase.wall_ns += now_ns() - start_ns;
    return;
  }
  const std::string log = fmt::format("performance-b{}-r{}", batch_size_, number);
  worker::PhaseEnd end;
  Result<Session> session = Session::start(request_->session, request_->manifest, log, end);
  if (session.ok()) {
    end = session->finish(guard_json([&] { return run_round(*session, number); }));
    row_.phase.peak_rss_bytes =
        std::max(row_.phase.peak_rss_bytes.value_or(0), session->peak_rss_bytes());
  }
  row_.phase.end = end;
  row_.phase.wall_ns += now_ns() - start_ns;
}

Status RowMeasurer::run_round(Session& session, int number) {
  Round round;
  RETURN_IF_ERROR(fill_inputs(session, round, number));
  ASSIGN_OR_RETURN(round.unique, measure(session, round, number, /*repeat=*/false));
  if (round.distinct_inputs > 1) {
    ASSIGN_OR_RETURN(round.repeated, measure(session, round, number, /*repeat=*/true));
  }
  rounds_.push_back(std::move(round));
  return ok_status();
}

// In a session of its own, before the first round, when no accuracy run has seen the outputs.
void RowMeasurer::learn_output_size() {
  if (request_->output_bytes_per_batch > 0) return;
  const OutputSizeRequest size{.model = request_->model,
                               .dataset = request_->dataset,
                               .samples = request_->usable_samples,
                               .batch_axes = request_->batch_axes,
                               .batch_size = batch_size_};
  row_.phase.end =
      run_in_session(request_->session, request_->manifest,
                     fmt::format("performance-b{}-size", batch_size_),
                     [&](Session& session) -> Status {
                       ASSIGN_OR_RETURN(found_output_bytes_, find_output_bytes(session, size));
                       return ok_status();
                     })
          .end;
}

std::size_t RowMeasurer::output_capacity(const LoadedModel& loaded) const {
  const std::size_t seen = static_cast<std::size_t>(request_->output_bytes_per_batch) *
                           static_cast<std::size_t>(loaded.batch_size) /
                           static_cast<std::size_t>(request_->output_bytes_batch_size) * 2;
  return std::max(
      {worker::guess_output_bytes(loaded.outputs, loaded.batch_size), seen, found_output_bytes_});
}

// Loads the model and fills the pool of input slots.
Status RowMeasurer::fill_inputs(Session& session, Round& round, int number) {
  const dataset::Dataset& data = *request_->dataset;
  ASSIGN_OR_RETURN(round.inputs, batched_specs(data, request_->batch_axes, batch_size_));
  ASSIGN_OR_RETURN(const LoadedModel loaded,
                   session.load(request_->model, batch_size_, round.inputs));
  round.loaded_batch_size = loaded.batch_size;
  if (loaded.batch_size != batch_size_) {
    ASSIGN_OR_RETURN(round.inputs, batched_specs(data, request_->batch_axes, loaded.batch_size));
  }
  loaded_batch_size_ = loaded.batch_size;
  round.load_ns = loaded.load_ns;
  round.any_number_of_calls = loaded.any_number_of_calls;
  row_.has_benchmark = loaded.has_benchmark;
  const InputPool pool{.dataset = request_->dataset,
                       .usable_samples = request_->usable_samples,
                       .batch_axes = request_->batch_axes,
                       .batch_size = loaded.batch_size};
  const std::size_t slots = pool_slots(pool, round.inputs);
  if (!request_->accuracy_store.empty()) {
    ASSIGN_OR_RETURN(splitter_, BatchSplitter::create({.batch_size = loaded.batch_size,
                                                       .batch_axes = request_->batch_axes,
                                                       .inputs = loaded.inputs,
                                                       .outputs = loaded.outputs}));
  }
  const std::size_t capacity = output_capacity(loaded);
  const std::size_t kept = std::clamp<std::size_t>(
      kKeptBytes / std::max<std::size_t>(capacity, 1) / request_->clients, 1, kMostKept);
  RETURN_IF_ERROR(session.share_arena({.inputs = round.inputs,
                                       .outputs = loaded.outputs,
                                       .input_slots = slots,
                                       .output_slots = request_->clients * (kept + 1),
                                       .output_capacity_bytes = capacity}));
  ASSIGN_OR_RETURN(pool_samples_, fill_pool(pool, session, number));
  round.distinct_inputs = slots;
  return ok_status();
}

// Calls in the row's windows that follow, when this one has `planned`: of repeated ones a share.
std::uint64_t RowMeasurer::calls_to_come(std::uint64_t planned, int number, bool repeat) const {
  const std::uint64_t repeated = repeat ? planned : planned / kRepeatShare;
  const auto rounds_left =
      static_cast<std::uint64_t>(std::max(rounds_of(*request_) - number - 1, 0));
  return rounds_left * repeated * (kRepeatShare + 1) + (repeat ? 0 : repeated);
}

Result<loadgen::RoundInput> RowMeasurer::measure(Session& session, Round& round, int number,
                                                 bool repeat) {
  const std::uint64_t capacity = loadgen::default_exact_capacity(request_->clients);
  ASSIGN_OR_RETURN(const std::size_t bytes, loadgen::required_bytes({request_->clients, capacity}));
  ASSIGN_OR_RETURN(const worker::SharedMemory record, worker::SharedMemory::create(bytes));
  {
    const Result<Json> shared =
        session.call("record", Json{{"bytes", bytes}}, kMeasureSlack, record.fd());
    if (!shared.ok()) return shared.status();
  }
  loadgen::ControllerWindow window;
  session.client().set_on_event([&window](const Json& event) {
    const Result<std::string> what = TypedObject(event, "an event of measure").text("what");
    if (what.ok()) (*what == "opened" ? window.opened_ns : window.closed_ns) = now_ns();
    return Json::object();
  });
  std::uint64_t calls_now = 0;
  session.set_tick([&] {
    const Result<loadgen::Progress> seen = loadgen::read_progress(record.bytes());
    if (!seen.ok()) return;
    calls_now = seen->calls_returned;
    const std::uint64_t planned = std::max(seen->planned_calls, calls_now);
    observer_->progress(calls_done_ + calls_now,
                        calls_done_ + planned + calls_to_come(planned, number, repeat), "calls");
  });
  Json arguments = round_arguments(*request_, number, repeat);
  arguments["exact_capacity"] = capacity;
  arguments["kept_per_client"] = repeat ? 0 : session.layout().output_slots / request_->clients - 1;
  const std::chrono::seconds timeout =
      kMeasureSlack + std::chrono::seconds(request_->max_duration_ns / 1'000'000'000);
  const Result<Json> answer = session.call("measure", std::move(arguments), timeout);
  session.set_tick(nullptr);
  session.client().set_on_event(nullptr);
  calls_done_ += calls_now;
  if (!repeat && !request_->record_folder.empty()) {
    RETURN_IF_ERROR(keep_record(record.bytes(), number));
  }
  if (!answer.ok()) return answer.status();
  loadgen::RoundInput input;
  ASSIGN_OR_RETURN(input.record, loadgen::parse(record.bytes()));
  input.controller = window;
  RETURN_IF_ERROR(read_answer(session, *answer, round, input, repeat));
  return input;
}

Status RowMeasurer::read_answer(Session& session, const Json& answer, Round& round,
                                loadgen::RoundInput& input, bool repeat) {
  const TypedObject members(answer, "the worker's answer to measure");
  if (members.has("host")) input.host = loadgen::host_watch_from_json(answer["host"]);
  if (repeat) return ok_status();
  ASSIGN_OR_RETURN(round.instance_wait_ns, members.integer("instance_wait_ns"));
  ASSIGN_OR_RETURN(const TypedObject conversion, members.object("conversion"));
  ASSIGN_OR_RETURN(const std::int64_t input_ns, conversion.integer("input_ns"));
  ASSIGN_OR_RETURN(const std::int64_t output_ns, conversion.integer("output_ns"));
  round.conversion_ns = input_ns + output_ns;
  ASSIGN_OR_RETURN(round.calls, conversion.count("calls"));
  if (members.has("interpreter_lock")) {
    ASSIGN_OR_RETURN(const TypedObject lock, members.object("interpreter_lock"));
    round.interpreter_lock.emplace();
    ASSIGN_OR_RETURN(round.interpreter_lock->calls, lock.count("calls"));
    ASSIGN_OR_RETURN(round.interpreter_lock->wait_ns, lock.integer("wait_ns"));
  }
  return compare_kept(session, members);
}

Status RowMeasurer::keep_record(std::span<const std::byte> record, int number) {
  const std::filesystem::path path =
      request_->record_folder / fmt::format("b{}-r{}.record", batch_size_, number);
  row_.records.push_back(path);
  return write_file_atomic(path, {reinterpret_cast<const char*>(record.data()), record.size()});
}

// Holds the outputs that the timed window left in the kept slots against the accuracy run's.
Status RowMeasurer::compare_kept(Session& session, const TypedObject& answer) {
  if (request_->accuracy_store.empty()) return ok_status();
  if (!kept_) {
    ASSIGN_OR_RETURN(kept_, KeptOutputs::open(request_->accuracy_store, request_->match));
  }
  ASSIGN_OR_RETURN(const std::vector<TypedObject> calls, answer.list("kept"));
  return kept_->compare({.layout = &session.layout(),
                         .arena = session.arena(),
                         .first_samples = pool_samples_,
                         .batch_size = loaded_batch_size_,
                         .splitter = &*splitter_,
                         .usable_samples = request_->usable_samples},
                        calls);
}

loadgen::RowInput RowMeasurer::row_input(bool repeated) const {
  loadgen::RowInput input;
  input.batch_size = static_cast<std::uint32_t>(rounds_.front().loaded_batch_size);
  input.clients = request_->clients;
  if (!rounds_.front().any_number_of_calls) input.backend_instances = 1;
  input.harness_overhead_ns = request_->harness_overhead_ns;
  input.seed = request_->seed;
  for (const Round& round : rounds_) {
    if (!repeated) input.rounds.push_back(round.unique);
    if (repeated && round.repeated) input.rounds.push_back(*round.repeated);
  }
  return input;
}

bool RowMeasurer::wants_another_round() const {
  if (failed() || rounds_.empty() || request_->exact_iterations) return false;
  if (static_cast<int>(rounds_.size()) >= kMostRounds) return false;
  std::int64_t spent_ns = 0;
  for (const Round& round : rounds_) spent_ns += round.unique.record.window_ns();
  const std::int64_t next_ns = spent_ns / static_cast<std::int64_t>(rounds_.size());
  if (spent_ns + next_ns > request_->max_duration_ns) return false;
  const Result<loadgen::PerformanceRow> row = loadgen::summarize(row_input(/*repeated=*/false));
  return row.ok() && row->valid && loadgen::queries_missing_for_p99(*row) > 0;
}

MeasuredRow RowMeasurer::finish() {
  if (rounds_.empty()) return std::move(row_);
  row_.inputs = rounds_.front().inputs;
  row_.distinct_inputs = rounds_.front().distinct_inputs;
  for (const Round& round : rounds_) {
    row_.instance_wait_ns += round.instance_wait_ns;
    row_.conversion_ns += round.conversion_ns;
    row_.calls += round.calls;
    if (round.interpreter_lock) {
      if (!row_.interpreter_lock) row_.interpreter_lock.emplace();
      row_.interpreter_lock->calls += round.interpreter_lock->calls;
      row_.interpreter_lock->wait_ns += round.interpreter_lock->wait_ns;
    }
    row_.load_ns += round.load_ns;
    row_.warmup_ns += round.unique.record.warmup.duration_ns;
    row_.window_ns += round.unique.record.window_ns();
    if (round.repeated) {
      row_.repeated_ns +=
          round.repeated->record.warmup.duration_ns + round.repeated->record.window_ns();
    }
    if (round.unique.controller) {
      row_.controller_window_ns +=
          round.unique.controller->closed_ns - round.unique.controller->opened_ns;
    }
  }
  Result<loadgen::PerformanceRow> row = loadgen::summarize(row_input(/*repeated=*/false));
  if (!row.ok()) {
    row_.phase.end = {worker::Outcome::kFailed, row.status().to_string()};
    return std::move(row_);
  }
  row_.row = std::move(row).value();
  if (kept_) {
    row_.match = kept_->finish();
    if (row_.match->verdict == check::MatchVerdict::kDrifted) {
      loadgen::void_row(row_.row, "outputs of the timed run differ from the accuracy run's: " +
                                      row_.match->reason);
    }
  }
  judge_repeated();
  judge_end();
  return std::move(row_);
}

void RowMeasurer::judge_repeated() {
  const loadgen::RowInput input = row_input(/*repeated=*/true);
  if (input.rounds.empty()) return;
  const Result<loadgen::PerformanceRow> repeated = loadgen::summarize(input);
  if (repeated.ok()) row_.repeat = loadgen::compare_repeated(row_.row, *repeated);
  if (row_.repeat && row_.repeat->cache_suspected) judge_suspected_cache();
}

// The rounds that were finished are shown, but a row whose last round was lost is not the row that
// was asked for.
void RowMeasurer::judge_end() {
  const worker::PhaseEnd& end = row_.phase.end;
  if (end.ok()) return;
  loadgen::void_row(row_.row, fmt::format("round {} {}: {}", rounds_.size() + 1,
                                          worker::name_of(end.outcome), end.reason));
}

// A cache in the path voids the row. On a disturbed host the two runs cannot be told apart.
void RowMeasurer::judge_suspected_cache() {
  const std::string finding = fmt::format("the same input again and again is {:.2f} times as fast",
                                          row_.repeat->rate_ratio);
  if (row_.row.noisy) {
    row_.row.notes.push_back(finding + ": not judged, since the host was disturbed");
    return;
  }
  loadgen::void_row(row_.row, finding + ": something in the path remembers inputs");
}

bool stopped(const PerformanceRequest& request) {
  return request.session.stop != nullptr && request.session.stop->load();
}

}  // namespace

std::vector<MeasuredRow> measure_rows(const PerformanceRequest& request, RunObserver& observer) {
  std::vector<RowMeasurer> measurers;
  measurers.reserve(request.batch_sizes.size());
  for (const std::int64_t batch_size : request.batch_sizes) {
    measurers.emplace_back(request, batch_size, observer);
  }
  const int rounds = rounds_of(request);
  for (int number = 0; number < rounds; ++number) {
    for (RowMeasurer& measurer : measurers) {
      if (!stopped(request) && !measurer.failed()) measurer.measure_round(number);
    }
  }
  for (RowMeasurer& measurer : measurers) {
    for (int number = rounds; !stopped(request) && measurer.wants_another_round(); ++number) {
      measurer.measure_round(number);
    }
  }
  std::vector<MeasuredRow> rows;
  rows.reserve(measurers.size());
  for (RowMeasurer& measurer : measurers) rows.push_back(measurer.finish());
  return rows;
}

}  // namespace assay::controller
