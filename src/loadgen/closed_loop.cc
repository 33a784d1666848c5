#include "loadgen/closed_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "loadgen/client_loop.h"
#include "loadgen/random.h"
#include "loadgen/statistics.h"
#include "loadgen/warmup.h"

namespace assay::loadgen {
namespace {

constexpr std::int64_t kWarmupTickNs = 2'000'000;
// Looks at the calls in flight come this far apart: a share of the time gone by, so that a short
// window has enough of them and a long one is left alone.
constexpr std::int64_t kShortestLookNs = 200'000;
constexpr std::int64_t kLongestLookNs = 10'000'000;
constexpr std::int64_t kLookShare = 200;

Status check_settings(const ClosedLoopSettings& settings, const Recorder& recorder) {
  if (settings.clients != recorder.clients()) {
    return invalid_argument(fmt::format("closed loop: {} clients, the record has {}",
                                        settings.clients, recorder.clients()));
  }
  if (settings.iterations == 0) return invalid_argument("closed loop: iterations is 0");
  if (settings.iterations > std::numeric_limits<std::uint64_t>::max() / kMaxClients) {
    return invalid_argument(fmt::format("closed loop: {} iterations", settings.iterations));
  }
  if (settings.max_failures == 0) return invalid_argument("closed loop: max_failures is 0");
  if (settings.max_duration_ns <= 0 || settings.min_duration_ns < 0) {
    return invalid_argument(fmt::format("closed loop: min_duration {} ns, max_duration {} ns",
                                        settings.min_duration_ns, settings.max_duration_ns));
  }
  if (settings.warmup.block_calls == 0 || settings.warmup.cap_ns < settings.warmup.floor_ns) {
    return invalid_argument("closed loop: warm-up blocks of 0 calls, or a cap below the floor");
  }
  return ok_status();
}

std::uint64_t floor_of_queries(const ClosedLoopSettings& settings) {
  const std::uint64_t asked = settings.clients * settings.iterations;
  return settings.exact_iterations ? asked : std::max(asked, settings.min_samples);
}

// One row. The calling thread conducts: it judges the warm-up and looks at the calls in flight; the
// clients are threads of their own, and share with it only what is atomic.
class Row {
 public:
  Row(Target& target, const ClosedLoopSettings& settings, Recorder& recorder, std::stop_token stop,
      ClosedLoopObserver* observer)
      : target_(&target),
        settings_(settings),
        recorder_(&recorder),
        stop_(std::move(stop)),
        observer_(observer),
        rings_(std::make_unique<LatencyRing[]>(settings.clients)),
        barrier_(static_cast<std::ptrdiff_t>(settings.clients)),
        judge_(settings.warmup) {}

  Status run();

 private:
  // What window_ holds when it is not the start of an open window.
  static constexpr std::int64_t kPending = 0;
  static constexpr std::int64_t kAbandoned = -1;

  enum class Gate : std::uint32_t { kShut, kOpen, kAbandoned };

  // the conductor's part
  Status start_clients(std::vector<std::jthread>& clients);
  void conduct_warmup();
  void close_block();
  void conduct_lead_in();
  void conduct_window();
  void look();
  void wait_ns(std::int64_t duration_ns);
  void write_warmup(WarmupJudge::Verdict verdict, std::int64_t duration_ns);
  Status finish();
  std::uint64_t warmup_calls() const;

  // the clients' part
  void client_main(std::uint32_t client);
  void cold_call();
  void warm_up(std::uint32_t client);
  void lead_in(std::uint32_t client);
  void untimed_call(std::uint32_t client);
  void open_window();
  void abandon();
  std::int64_t window() const { return window_.load(std::memory_order_acquire); }
  bool window_is_open() const { return window() > 0; }

  Target* target_;
  ClosedLoopSettings settings_;
  Recorder* recorder_;
  std::stop_token stop_;
  ClosedLoopObserver* observer_;

  std::unique_ptr<LatencyRing[]> rings_;
  std::barrier<> barrier_;
  std::atomic<Gate> gate_{Gate::kShut};
  std::atomic<bool> cold_done_{false};
  std::atomic<bool> warm_{false};
  std::atomic<std::uint64_t> untimed_queries_{0};
  std::atomic<std::uint64_t> untimed_failures_{0};
  std::atomic<std::uint32_t> in_loop_{0};
  std::atomic<std::int64_t> window_{kPending};  // its start once open
  LoopLimits
      limits_;  // written by the conductor before warm_, completed by the opener of the window
  LoopState loop_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint32_t finished_clients_ = 0;  // guarded by mutex_
  Status first_untimed_failure_;        // guarded by mutex_

  // the conductor's alone
  WarmupJudge judge_;
  std::vector<std::uint64_t> block_first_;  // per client: its first latency of the open block
  std::vector<double> block_values_;
  WarmupRecord warmup_;  // cold_call_ns and load_to_first_result_ns: client 0, before cold_done_
  InFlightRecord in_flight_;
};

Status Row::run() {
  recorder_->set_load({.iterations = settings_.iterations,
                       .min_samples = settings_.min_samples,
                       .exact_iterations = settings_.exact_iterations,
                       .repeat_input = settings_.repeat_input,
                       .max_duration_ns = settings_.max_duration_ns,
                       .min_duration_ns = settings_.min_duration_ns,
                       .seed = settings_.seed,
                       .planned_calls = floor_of_queries(settings_)});
  recorder_->set_state(RecordState::kWarmingUp);
  std::vector<std::jthread> clients;
  RETURN_IF_ERROR(start_clients(clients));
  conduct_warmup();
  conduct_lead_in();
  if (window_is_open()) conduct_window();
  clients.clear();  // joins
  return finish();
}

Status Row::start_clients(std::vector<std::jthread>& clients) {
  clients.reserve(settings_.clients);
  try {
    for (std::uint32_t i = 0; i < settings_.clients; ++i) {
      clients.emplace_back([this, i] { client_main(i); });
    }
  } catch (const std::system_error& error) {
    gate_.store(Gate::kAbandoned);
    gate_.notify_all();
    const std::size_t started = clients.size();
    clients.clear();
    return resource_exhausted(fmt::format("closed loop: client {} of {} got no thread: {}", started,
                                          settings_.clients, error.what()));
  }
  gate_.store(Gate::kOpen);
  gate_.notify_all();
  return ok_status();
}

// Sleeps, but wakes when a client finished or a stop is asked for.
void Row::wait_ns(std::int64_t duration_ns) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop_, std::chrono::nanoseconds(duration_ns),
                    [this] { return finished_clients_ > 0; });
}

std::uint64_t Row::warmup_calls() const {
  std::uint64_t calls = 0;
  for (std::uint32_t i = 0; i < settings_.clients; ++i) calls += rings_[i].count();
  return calls;
}

void Row::conduct_warmup() {
  while (!cold_done_.load(std::memory_order_acquire) && !stop_.stop_requested()) {
    wait_ns(kWarmupTickNs);
  }
  const std::int64_t began_ns = now_ns();
  std::int64_t block_began_ns = began_ns;
  std::uint64_t block_began_calls = 0;
  block_first_.assign(settings_.clients, 0);
  WarmupJudge::Verdict verdict = WarmupJudge::Verdict::kGoOn;
  while (verdict == WarmupJudge::Verdict::kGoOn && !stop_.stop_requested() &&
         window() == kPending) {
    wait_ns(std::min(kWarmupTickNs, std::max<std::int64_t>(settings_.warmup.block_ns, 100'000)));
    const std::int64_t now = now_ns();
    const std::uint64_t calls = warmup_calls();
    if (judge_.block_complete(calls - block_began_calls, now - block_began_ns)) {
      close_block();
      block_began_ns = now;
      block_began_calls = calls;
    }
    verdict = judge_.judge(calls, now - began_ns);
  }
  if (verdict == WarmupJudge::Verdict::kGoOn) abandon();
  write_warmup(verdict, now_ns() - began_ns);
  const double median_ns = judge_.last_median_ns().value_or(1e9);
  const std::uint64_t own_chunk = settings_.exact_iterations ? 1 : chunk_for(median_ns);
  limits_.chunk = settings_.chunk > 0 ? settings_.chunk : own_chunk;
  limits_.exact = settings_.exact_iterations;
  limits_.max_failures = settings_.max_failures;
  // Each client but the first to find no work may drop the rest of a chunk.
  limits_.queries = floor_of_queries(settings_) + (settings_.clients - 1) * (limits_.chunk - 1);
  warm_.store(true, std::memory_order_release);
}

// The clients' latencies since the last block, pooled.
void Row::close_block() {
  block_values_.clear();
  for (std::uint32_t i = 0; i < settings_.clients; ++i) {
    const std::uint64_t count = rings_[i].count();
    rings_[i].copy_from(block_first_[i], block_values_);
    block_first_[i] = count;
  }
  if (!block_values_.empty()) judge_.add_block(median(block_values_));
}

void Row::write_warmup(WarmupJudge::Verdict verdict, std::int64_t duration_ns) {
  if (!cold_done_.load(std::memory_order_acquire)) return;  // stopped inside the cold call
  warmup_.duration_ns = duration_ns;
  warmup_.calls = warmup_calls();
  warmup_.failures = untimed_failures_.load();
  warmup_.steady = verdict == WarmupJudge::Verdict::kSteady;
  warmup_.last_median_ns = static_cast<std::int64_t>(judge_.last_median_ns().value_or(0));
  warmup_.previous_median_ns = static_cast<std::int64_t>(judge_.previous_median_ns().value_or(0));
  recorder_->set_warmup(warmup_);
}

void Row::conduct_lead_in() {
  while (window() == kPending) {
    if (stop_.stop_requested()) abandon();
    wait_ns(kShortestLookNs);
  }
}

void Row::conduct_window() {
  recorder_->set_window_start(window());
  recorder_->set_state(RecordState::kMeasuring);
  if (observer_ != nullptr) observer_->window_opened();
  Random random(settings_.seed ^ 0x100C);
  const auto closed = [this] {
    return loop_.reason.load(std::memory_order_acquire) != EndReason::kNone;
  };
  while (!closed()) {
    if (stop_.stop_requested()) close_window(loop_, now_ns(), EndReason::kStopped);
    look();
    const std::int64_t period_ns =
        std::clamp((now_ns() - window()) / kLookShare, kShortestLookNs, kLongestLookNs);
    // Half to one and a half periods, so that looks do not keep step with the calls.
    wait_ns(period_ns / 2 +
            static_cast<std::int64_t>(random.unit() * static_cast<double>(period_ns)));
  }
}

void Row::look() {
  std::uint64_t inside = 0;
  for (std::uint32_t i = 0; i < settings_.clients; ++i) inside += recorder_->in_flight(i);
  if (loop_.reason.load(std::memory_order_acquire) != EndReason::kNone) return;  // closed meanwhile
  ++in_flight_.looks;
  in_flight_.sum += inside;
  in_flight_.sum_of_squares += inside * inside;
}

// After the join. The window ended with the first client that found no more work.
Status Row::finish() {
  if (!window_is_open()) {
    const std::uint64_t failures = untimed_failures_.load();
    if (failures >= settings_.max_failures) {
      return {
          StatusCode::kAborted,
          fmt::format("closed loop: {} calls failed before the window opened, the first with {}",
                      failures, first_untimed_failure_.to_string())};
    }
    return cancelled("closed loop: stopped before the window opened");
  }
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t i = 0; i < settings_.clients; ++i) {
    end_ns = std::min(end_ns, recorder_->client(i).finished_ns());
  }
  warmup_.failures = untimed_failures_.load();
  recorder_->set_warmup(warmup_);
  recorder_->set_in_flight(in_flight_);
  recorder_->set_window_end(end_ns, loop_.reason.load());
  recorder_->set_state(RecordState::kFinished);
  if (observer_ != nullptr) observer_->window_closed();
  return ok_status();
}

void Row::client_main(std::uint32_t client) {
  gate_.wait(Gate::kShut);
  if (gate_.load() == Gate::kAbandoned) return;
  if (client == 0) {
    cold_call();
  } else {
    cold_done_.wait(false, std::memory_order_acquire);
  }
  warm_up(client);
  barrier_.arrive_and_wait();
  lead_in(client);
  if (window_is_open()) {
    ClientRecorder recorder = recorder_->client(client);
    recorder.set_window_start(window());
    run_client(*target_, client, limits_, loop_, recorder);
  }
  {
    const std::scoped_lock lock(mutex_);
    ++finished_clients_;
  }
  changed_.notify_all();
}

void Row::cold_call() {
  const std::int64_t start_ns = now_ns();
  untimed_call(0);
  const std::int64_t end_ns = now_ns();
  warmup_.cold_call_ns = end_ns - start_ns;
  if (settings_.load_start_ns) {
    warmup_.load_to_first_result_ns = elapsed(*settings_.load_start_ns, end_ns).ns;
  }
  cold_done_.store(true, std::memory_order_release);
  cold_done_.notify_all();
}

void Row::untimed_call(std::uint32_t client) {
  const std::uint64_t query = kUntimedQueryBase + untimed_queries_.fetch_add(1);
  const Status status = target_->issue(client, query);
  if (status.ok()) return;
  recorder_->client(client).note_failure(query, status);
  const std::uint64_t failures = untimed_failures_.fetch_add(1) + 1;
  if (failures == 1) {
    const std::scoped_lock lock(mutex_);
    first_untimed_failure_ = status;
  }
  if (failures >= settings_.max_failures) abandon();
}

void Row::warm_up(std::uint32_t client) {
  LatencyRing& ring = rings_[client];
  while (!warm_.load(std::memory_order_acquire) && window() == kPending) {
    const std::int64_t start_ns = now_ns();
    untimed_call(client);
    ring.push(now_ns() - start_ns);
  }
}

// After the barrier the clients wake one by one. Those that are there go on calling, unrecorded,
// until the last is in the loop too: it opens the window, and concurrency is full from its first
// instant.
void Row::lead_in(std::uint32_t client) {
  if (in_loop_.fetch_add(1) + 1 == settings_.clients) {
    open_window();
    return;
  }
  std::int64_t end_ns = 0;
  while (window() == kPending) {
    untimed_call(client);
    end_ns = now_ns();
  }
  if (window_is_open() && end_ns > window()) recorder_->client(client).set_lead_in_end(end_ns);
}

void Row::open_window() {
  const std::int64_t start_ns = now_ns();
  limits_.open_until_ns = start_ns + settings_.min_duration_ns;
  loop_.close_at_ns.store(start_ns + settings_.max_duration_ns, std::memory_order_relaxed);
  std::int64_t pending = kPending;
  window_.compare_exchange_strong(pending, start_ns, std::memory_order_release);
}

// The window will not open. Open or abandoned, the first of the two holds for every thread.
void Row::abandon() {
  std::int64_t pending = kPending;
  window_.compare_exchange_strong(pending, kAbandoned, std::memory_order_release);
}

}  // namespace

Status run_closed_loop(Target& target, const ClosedLoopSettings& settings, Recorder& recorder,
                       std::stop_token stop, ClosedLoopObserver* observer) {
  RETURN_IF_ERROR(check_settings(settings, recorder));
  return Row(target, settings, recorder, std::move(stop), observer).run();
}

}  // namespace assay::loadgen
