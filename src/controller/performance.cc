#include "controller/performance.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "check/output_store.h"
#include "dataset/prefetch.h"
#include "loadgen/host_watch.h"
#include "loadgen/record.h"

namespace assay::controller {
namespace {

constexpr std::uint64_t kP99Floor = 662;  // measurement.md, Statistics
constexpr int kMostRounds = 9;            // when rounds are added for the p99 floor
constexpr std::size_t kPoolBytes = std::size_t{256} << 20;
constexpr std::size_t kMostPoolSlots = 64;
constexpr std::size_t kMostKept = 32;      // outputs kept per client and round
constexpr std::uint64_t kRepeatShare = 4;  // repeated input is run for a quarter of the time
constexpr std::chrono::seconds kMeasureSlack{120};

// A round: one worker, one batch size.
struct Round {
  std::int64_t loaded_batch_size = 1;
  std::vector<TensorSpec> inputs;
  loadgen::RoundInput unique;
  std::optional<loadgen::RoundInput> repeated;
  std::uint64_t distinct_inputs = 0;
  std::int64_t instance_wait_ns = 0;
  std::int64_t conversion_ns = 0;
  std::uint64_t calls = 0;
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
  Status fill_inputs(Session& session, Round& round, int number);
  Result<loadgen::RoundInput> measure(Session& session, Round& round, int number, bool repeat);
  std::uint64_t calls_to_come(std::uint64_t planned, int number, bool repeat) const;
  Json measure_arguments(int number, bool repeat) const;
  Status compare_kept(Session& session, const Json& kept);
  Status keep_record(std::span<const std::byte> record, int number);
  std::size_t pool_slots(const std::vector<TensorSpec>& inputs, std::int64_t batch) const;
  loadgen::RowInput row_input(bool repeated) const;
  void judge_suspected_cache();

  const PerformanceRequest* request_;
  std::int64_t batch_size_;
  RunObserver* observer_;
  MeasuredRow row_;
  std::vector<Round> rounds_;
  std::optional<check::OutputReader> accuracy_;
  std::optional<check::OutputsMatch> match_;
  std::int64_t loaded_batch_size_ = 1;
  std::uint64_t calls_done_ = 0;           // in the windows that are over
  std::vector<std::size_t> pool_samples_;  // first sample of each input slot of this round
};

void RowMeasurer::measure_round(int number) {
  const std::int64_t start_ns = now_ns();
  const std::string log = fmt::format("performance-b{}-r{}", batch_size_, number);
  worker::PhaseEnd end;
  Result<Session> session = Session::start(request_->session, request_->manifest, log, end);
  if (session.ok()) {
    const Status status = run_round(*session, number);
    end = session->finish(status);
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

std::size_t RowMeasurer::pool_slots(const std::vector<TensorSpec>& inputs,
                                    std::int64_t batch) const {
  const Result<std::size_t> bytes = worker::input_slot_bytes(inputs);
  const std::size_t by_bytes = bytes.ok() ? std::max<std::size_t>(kPoolBytes / *bytes, 1) : 1;
  const std::size_t by_data =
      (static_cast<std::size_t>(request_->usable_samples) + static_cast<std::size_t>(batch) - 1) /
      static_cast<std::size_t>(batch);
  return std::min({by_bytes, std::max<std::size_t>(by_data, 1), kMostPoolSlots});
}

// Loads the model and fills the pool of input slots with samples of the data set, another part of
// it in every round.
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
  const std::size_t slots = pool_slots(round.inputs, loaded.batch_size);
  std::size_t capacity = worker::guess_output_bytes(loaded.outputs, loaded.batch_size);
  capacity =
      std::max(capacity, static_cast<std::size_t>(request_->output_bytes_per_batch) *
                             static_cast<std::size_t>(loaded.batch_size) /
                             static_cast<std::size_t>(request_->output_bytes_batch_size) * 2);
  const std::size_t kept = std::clamp<std::size_t>(
      kPoolBytes / std::max<std::size_t>(capacity, 1) / request_->clients, 1, kMostKept);
  RETURN_IF_ERROR(session.share_arena({.inputs = round.inputs,
                                       .outputs = loaded.outputs,
                                       .input_slots = slots,
                                       .output_slots = request_->clients * (kept + 1),
                                       .output_capacity_bytes = capacity}));
  const std::size_t pool = slots * static_cast<std::size_t>(loaded.batch_size);
  const std::size_t usable = static_cast<std::size_t>(request_->usable_samples);
  dataset::PrefetchOptions options;
  options.batch_size = static_cast<std::size_t>(loaded.batch_size);
  options.batch_axes = request_->batch_axes;
  options.count = std::min(pool, usable);
  options.first = usable > pool ? static_cast<std::size_t>(number) * pool % (usable - pool + 1) : 0;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<dataset::BatchSource> source,
      dataset::BatchSource::start(data, slot_buffers(session.layout(), session.arena()), options));
  pool_samples_.assign(slots, 0);
  std::size_t filled = 0;
  for (; filled < slots; ++filled) {
    ASSIGN_OR_RETURN(const std::optional<dataset::Batch> batch, source->next());
    if (!batch) break;
    pool_samples_[batch->slot] = batch->first;
  }
  if (filled < slots) return internal_error("the data set gave fewer batches than it has");
  round.distinct_inputs = slots;
  return ok_status();
}

// Calls in the row's windows that follow, when this one has `planned`: of repeated ones a share.
std::uint64_t RowMeasurer::calls_to_come(std::uint64_t planned, int number, bool repeat) const {
  const std::uint64_t repeated = repeat ? planned : planned / kRepeatShare;
  const auto rounds_left = static_cast<std::uint64_t>(std::max(request_->rounds - number - 1, 0));
  return rounds_left * repeated * (kRepeatShare + 1) + (repeat ? 0 : repeated);
}

Json RowMeasurer::measure_arguments(int number, bool repeat) const {
  const auto rounds = static_cast<std::uint64_t>(request_->rounds);
  const std::uint64_t share = repeat ? rounds * kRepeatShare : rounds;
  const bool exact = request_->exact_iterations && !repeat;
  const std::uint64_t iterations = std::max<std::uint64_t>(
      exact ? request_->iterations / rounds +
                  (static_cast<std::uint64_t>(number) < request_->iterations % rounds ? 1 : 0)
            : (request_->iterations + share - 1) / share,
      1);
  return Json{{"clients", request_->clients},
              {"iterations", iterations},
              {"exact_iterations", exact},
              {"min_samples", (kP99Floor + share - 1) / share},
              {"min_duration_ns",
               request_->min_round_ns / (repeat ? static_cast<std::int64_t>(kRepeatShare) : 1)},
              {"max_duration_ns", request_->max_duration_ns / static_cast<std::int64_t>(share)},
              {"seed", request_->seed + static_cast<std::uint64_t>(number)},
              {"repeat_input", repeat},
              {"skip_warmup", repeat}};
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
    (event.value("what", "") == "opened" ? window.opened_ns : window.closed_ns) = now_ns();
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
  Json arguments = measure_arguments(number, repeat);
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
  if (answer->contains("host")) input.host = loadgen::host_watch_from_json((*answer)["host"]);
  if (repeat) return input;
  round.instance_wait_ns = answer->value("instance_wait_ns", std::int64_t{0});
  const Json conversion = answer->value("conversion", Json::object());
  round.conversion_ns = conversion.value("input_ns", std::int64_t{0}) +
                        conversion.value("output_ns", std::int64_t{0});
  round.calls = conversion.value("calls", std::uint64_t{0});
  RETURN_IF_ERROR(compare_kept(session, answer->value("kept", Json::array())));
  return input;
}

Status RowMeasurer::keep_record(std::span<const std::byte> record, int number) {
  const std::filesystem::path path =
      request_->record_folder / fmt::format("b{}-r{}.record", batch_size_, number);
  row_.records.push_back(path);
  return write_file_atomic(path, {reinterpret_cast<const char*>(record.data()), record.size()});
}

// Holds the outputs that the timed window left in the kept slots against the accuracy run's.
Status RowMeasurer::compare_kept(Session& session, const Json& kept) {
  if (request_->accuracy_store.empty()) return ok_status();
  if (!accuracy_) {
    ASSIGN_OR_RETURN(check::OutputReader reader,
                     check::OutputReader::open(request_->accuracy_store));
    ASSIGN_OR_RETURN(check::OutputsMatch match,
                     check::OutputsMatch::create(reader.outputs(), request_->match));
    accuracy_.emplace(std::move(reader));
    match_.emplace(std::move(match));
  }
  for (const Json& call : kept) {
    const auto slot = worker::output_slot(session.layout(), session.arena(),
                                          call.at("output_slot").get<std::size_t>());
    ASSIGN_OR_RETURN(const std::vector<TensorView> outputs,
                     worker::read_output_slot(session.layout(), slot));
    const std::size_t first = pool_samples_.at(call.at("input_slot").get<std::size_t>());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const std::size_t batch = static_cast<std::size_t>(loaded_batch_size_);
      const std::size_t row_bytes = outputs[k].bytes.size() / batch;
      for (std::size_t i = 0; i < batch && first + i < request_->usable_samples; ++i) {
        ASSIGN_OR_RETURN(const auto wanted, accuracy_->output(first + i, k));
        RETURN_IF_ERROR(
            match_->add(first + i, k, wanted, outputs[k].bytes.subspan(i * row_bytes, row_bytes)));
      }
    }
  }
  return ok_status();
}

loadgen::RowInput RowMeasurer::row_input(bool repeated) const {
  loadgen::RowInput input;
  input.batch_size = static_cast<std::uint32_t>(rounds_.front().loaded_batch_size);
  input.clients = request_->clients;
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
  if (match_) {
    row_.match = match_->finish();
    if (row_.match->verdict == check::MatchVerdict::kDrifted) {
      loadgen::void_row(row_.row, "outputs of the timed run differ from the accuracy run's: " +
                                      row_.match->reason);
    }
  }
  const loadgen::RowInput repeated_input = row_input(/*repeated=*/true);
  if (repeated_input.rounds.empty()) return std::move(row_);
  const Result<loadgen::PerformanceRow> repeated = loadgen::summarize(repeated_input);
  if (repeated.ok()) row_.repeat = loadgen::compare_repeated(row_.row, *repeated);
  if (row_.repeat && row_.repeat->cache_suspected) judge_suspected_cache();
  return std::move(row_);
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
  for (int number = 0; number < request.rounds; ++number) {
    for (RowMeasurer& measurer : measurers) {
      if (!stopped(request) && !measurer.failed()) measurer.measure_round(number);
    }
  }
  for (RowMeasurer& measurer : measurers) {
    for (int number = request.rounds; !stopped(request) && measurer.wants_another_round();
         ++number) {
      measurer.measure_round(number);
    }
  }
  std::vector<MeasuredRow> rows;
  rows.reserve(measurers.size());
  for (RowMeasurer& measurer : measurers) rows.push_back(measurer.finish());
  return rows;
}

Result<JsonValue> measure_harness(const SessionSettings& settings,
                                  const host::Manifest& null_backend) {
  worker::PhaseEnd end;
  ASSIGN_OR_RETURN(Session session, Session::start(settings, null_backend, "harness", end));
  const std::vector<TensorSpec> inputs = {{"x", DType::kFloat32, {1, 1}}};  // as it wants
  const CompiledModel model{"{}", "", settings.log_folder};
  ASSIGN_OR_RETURN(const LoadedModel loaded, session.load(model, 1, inputs));
  RETURN_IF_ERROR(session.share_arena(
      {.inputs = inputs,
       .outputs = loaded.outputs,
       .input_slots = 1,
       .output_slots = 1,
       .output_capacity_bytes = worker::guess_output_bytes(loaded.outputs, loaded.batch_size)}));
  const Result<Json> answer = session.call("harness", Json::object(), std::chrono::seconds(60));
  session.finish(answer.ok() ? ok_status() : answer.status());
  if (!answer.ok()) return answer.status();
  return JsonValue(answer->value("harness", Json()));
}

}  // namespace assay::controller
