#include "loadgen/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

namespace assay::loadgen {
namespace {

constexpr std::int64_t kUnsetMinimum = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kTotalExactSamples = std::uint64_t{1} << 21;  // 64 MiB
constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 48;
// 36 years since boot. Below it no sum of a few stamps overflows.
constexpr std::int64_t kMaxStampNs = std::int64_t{1} << 60;

bool plausible(std::int64_t ns) { return ns >= 0 && ns <= kMaxStampNs; }

std::uint64_t client_stride(std::uint64_t exact_capacity) {
  const std::uint64_t bytes = sizeof(ClientBlock) + exact_capacity * sizeof(Sample);
  return (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
}

// Plain bytes of foreign memory into a struct; the caller has checked that they are there.
template <typename T>
void read_bytes(std::span<const std::byte> memory, std::size_t offset, T& out) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(&out, memory.data() + offset, sizeof(T));
}

Status corrupt(std::string what) { return data_loss("latency record: " + std::move(what)); }

Status check_header(const RecordHeader& header) {
  if (header.state > static_cast<std::uint32_t>(RecordState::kFinished)) {
    return corrupt(fmt::format("state {}", header.state));
  }
  if (header.end_reason > static_cast<std::uint32_t>(EndReason::kStopped)) {
    return corrupt(fmt::format("end_reason {}", header.end_reason));
  }
  for (const std::int64_t ns :
       {header.load_to_first_result_ns, header.cold_call_ns, header.warmup_duration_ns,
        header.max_duration_ns, header.min_duration_ns, header.slice_ns}) {
    if (!plausible(ns)) return corrupt(fmt::format("a duration of {} ns", ns));
  }
  const std::int64_t start_ns = header.window_start_ns;
  const std::int64_t end_ns = header.window_end_ns;
  if (!plausible(start_ns) || !plausible(end_ns) || (end_ns != 0 && end_ns < start_ns)) {
    return corrupt(fmt::format("a window from {} to {} ns", start_ns, end_ns));
  }
  return ok_status();
}

Status read_header(std::span<const std::byte> memory, RecordHeader& header) {
  if (memory.size() < sizeof(RecordHeader)) {
    return corrupt(fmt::format("{} bytes are less than a header", memory.size()));
  }
  read_bytes(memory, 0, header);
  if (header.magic != kRecordMagic) return corrupt("no magic number");
  if (header.version != kRecordVersion) {
    return unimplemented(fmt::format("latency record: version {}, this program reads {}",
                                     header.version, kRecordVersion));
  }
  const Result<std::size_t> bytes = required_bytes({header.clients, header.exact_capacity});
  if (!bytes.ok()) return corrupt(bytes.status().message());
  if (header.total_bytes != *bytes ||
      header.client_stride_bytes != client_stride(header.exact_capacity)) {
    return corrupt("sizes that contradict its shape");
  }
  if (memory.size() < *bytes) {
    return corrupt(fmt::format("{} bytes, its shape needs {}", memory.size(), *bytes));
  }
  return check_header(header);
}

Result<FailureRecord> read_failure(const ClientBlock& block) {
  if (block.first_failure_bytes > kFailureTextBytes) {
    return corrupt(fmt::format("first_failure_bytes {}", block.first_failure_bytes));
  }
  return FailureRecord{
      .query = block.first_failure_query,
      .code = static_cast<StatusCode>(block.first_failure_code),
      .text = std::string(block.first_failure_text.data(), block.first_failure_bytes)};
}

// The histogram must hold exactly the samples that the exact part has no room for. A writer that
// died between a bucket and the count has one more in the histogram.
Status check_beyond(const ClientBlock& block, std::uint64_t beyond) {
  std::uint64_t total = 0;
  for (const std::uint64_t count : block.beyond) {
    if (count > beyond + 1) return corrupt("a histogram bucket above the number of samples");
    total += count;
  }
  if (total != beyond && total != beyond + 1) {
    return corrupt(
        fmt::format("histogram holds {} samples, {} lie beyond the capacity", total, beyond));
  }
  return ok_status();
}

// An end before its start is left to the reader: it is evidence, not corruption.
Status check_stamps(const ClientBlock& block, std::span<const Sample> samples) {
  const bool no_call = block.min_ns == kUnsetMinimum;
  if (!plausible(block.finished_ns) || !plausible(block.lead_in_end_ns) ||
      !(plausible(block.min_ns) || no_call) || !plausible(block.max_ns)) {
    return corrupt("an impossible time of a client");
  }
  for (const Sample& sample : samples) {
    if (!plausible(sample.intended_start_ns) || !plausible(sample.start_ns) ||
        !plausible(sample.end_ns)) {
      return corrupt(fmt::format("query {}: an impossible time stamp", sample.query));
    }
  }
  return ok_status();
}

Result<ClientRecord> read_client(std::span<const std::byte> memory, std::size_t offset,
                                 std::uint64_t capacity) {
  // Larger than a stack frame should be.
  const auto block = std::make_unique<ClientBlock>();
  read_bytes(memory, offset, *block);
  if (block->successes > kMaxSamples || block->failures > kMaxSamples) {
    return corrupt("more samples than any run can have");
  }
  ClientRecord client;
  client.successes = block->successes;
  client.failures = block->failures;
  client.negative_latencies = block->negative_latencies;
  client.sum_ns = block->sum_ns;
  client.min_ns = block->min_ns == kUnsetMinimum ? 0 : block->min_ns;
  client.max_ns = block->max_ns;
  client.finished_ns = block->finished_ns;
  client.last_call_failed = block->last_call_failed != 0;
  client.lead_in_end_ns = block->lead_in_end_ns;
  client.call_in_flight = block->boundary_steps % 2 == 1;
  const std::uint64_t exact = std::min(block->successes, capacity);
  client.samples.resize(exact);
  // An empty vector has no address, and memcpy wants one.
  if (exact > 0) {
    std::memcpy(client.samples.data(), memory.data() + offset + sizeof(ClientBlock),
                exact * sizeof(Sample));
  }
  RETURN_IF_ERROR(check_stamps(*block, client.samples));
  RETURN_IF_ERROR(check_beyond(*block, block->successes - exact));
  if (block->successes > exact) {
    client.beyond.assign(block->beyond.begin(), block->beyond.end());
    client.slices.assign(block->slices.begin(), block->slices.end());
  }
  if (block->has_failure != 0) {
    ASSIGN_OR_RETURN(client.first_failure, read_failure(*block));
  }
  return client;
}

RecordView view_of(const RecordHeader& header) {
  RecordView view;
  view.shape = {header.clients, header.exact_capacity};
  view.state = static_cast<RecordState>(header.state);
  view.end_reason = static_cast<EndReason>(header.end_reason);
  view.load = {.iterations = header.iterations,
               .min_samples = header.min_samples,
               .exact_iterations = header.exact_iterations != 0,
               .repeat_input = header.repeat_input != 0,
               .max_duration_ns = header.max_duration_ns,
               .min_duration_ns = header.min_duration_ns,
               .seed = header.seed,
               .planned_calls = header.planned_calls};
  view.warmup = {.cold_call_ns = header.cold_call_ns,
                 .load_to_first_result_ns = header.load_to_first_result_ns,
                 .duration_ns = header.warmup_duration_ns,
                 .calls = header.warmup_calls,
                 .failures = header.warmup_failures,
                 .steady = header.warmup_steady != 0,
                 .last_median_ns = header.warmup_last_median_ns,
                 .previous_median_ns = header.warmup_previous_median_ns};
  view.in_flight = {header.in_flight_looks, header.in_flight_sum, header.in_flight_sum_of_squares};
  view.window_start_ns = header.window_start_ns;
  view.window_end_ns = header.window_end_ns;
  view.slice_ns = header.slice_ns;
  return view;
}

// Another process's counter, read while it writes.
std::uint64_t read_live(std::span<const std::byte> memory, std::size_t offset) {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(memory.data() + offset),
                         __ATOMIC_ACQUIRE);
}

}  // namespace

std::uint64_t default_exact_capacity(std::uint32_t clients) {
  const std::uint64_t share = kTotalExactSamples / std::max<std::uint32_t>(clients, 1);
  return std::clamp<std::uint64_t>(share, 4096, std::uint64_t{1} << 18);
}

Result<std::size_t> required_bytes(const RecordShape& shape) {
  if (shape.clients == 0 || shape.clients > kMaxClients) {
    return invalid_argument(
        fmt::format("clients: got {}, accepted are 1 to {}", shape.clients, kMaxClients));
  }
  if (shape.exact_capacity > kMaxExactCapacity) {
    return invalid_argument(fmt::format("exact_capacity: got {}, accepted are 0 to {}",
                                        shape.exact_capacity, kMaxExactCapacity));
  }
  return sizeof(RecordHeader) + shape.clients * client_stride(shape.exact_capacity);
}

void ClientRecorder::note_failure(std::uint64_t query, const Status& status) {
  ClientBlock& block = *block_;
  if (block.has_failure != 0) return;
  const std::string& text = status.message();
  const std::size_t bytes = std::min(text.size(), kFailureTextBytes);
  std::memcpy(block.first_failure_text.data(), text.data(), bytes);
  block.first_failure_bytes = static_cast<std::uint32_t>(bytes);
  block.first_failure_code = static_cast<std::int32_t>(status.code());
  block.first_failure_query = query;
  block.has_failure = 1;
}

void ClientRecorder::fail(std::uint64_t query, const Status& status) {
  note_failure(query, status);
  std::atomic_ref(block_->failures).store(block_->failures + 1, std::memory_order_release);
}

void ClientRecorder::set_window_start(std::int64_t start_ns) { block_->slices_start_ns = start_ns; }

void ClientRecorder::set_lead_in_end(std::int64_t end_ns) { block_->lead_in_end_ns = end_ns; }

void ClientRecorder::finish(std::int64_t end_ns, bool last_call_failed) {
  block_->finished_ns = end_ns;
  block_->last_call_failed = last_call_failed ? 1 : 0;
}

void ClientRecorder::add_beyond_capacity(std::int64_t latency_ns, std::int64_t end_ns) {
  ClientBlock& block = *block_;
  ++block.beyond[RecordBuckets::bucket(latency_ns)];
  const std::int64_t since_start_ns = std::max<std::int64_t>(end_ns - block.slices_start_ns, 0);
  const auto slice = static_cast<std::uint64_t>(since_start_ns) >> block.slice_log2;
  Slice& into = block.slices[std::min<std::uint64_t>(slice, kSliceCount - 1)];
  ++into.count;
  into.sum_ns += static_cast<std::uint64_t>(latency_ns);
  into.max_ns = std::max(into.max_ns, static_cast<std::uint64_t>(latency_ns));
}

Result<Recorder> Recorder::create(std::span<std::byte> memory, const RecordShape& shape) {
  ASSIGN_OR_RETURN(const std::size_t bytes, required_bytes(shape));
  if (memory.size() < bytes) {
    return invalid_argument(
        fmt::format("latency record: got {} bytes, its shape needs {}", memory.size(), bytes));
  }
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % kCacheLineBytes != 0) {
    return invalid_argument("latency record: memory is not aligned to 64 bytes");
  }
  std::memset(memory.data(), 0, bytes);
  Recorder recorder(memory.first(bytes));
  RecordHeader& header = recorder.header();
  header.version = kRecordVersion;
  header.clients = shape.clients;
  header.exact_capacity = shape.exact_capacity;
  header.client_stride_bytes = client_stride(shape.exact_capacity);
  header.total_bytes = bytes;
  for (std::uint32_t i = 0; i < shape.clients; ++i) recorder.block(i).min_ns = kUnsetMinimum;
  // Last: bytes without it are no record.
  std::atomic_ref(header.magic).store(kRecordMagic, std::memory_order_release);
  return recorder;
}

RecordHeader& Recorder::header() const { return *reinterpret_cast<RecordHeader*>(memory_.data()); }

ClientBlock& Recorder::block(std::uint32_t index) const {
  const std::size_t offset = sizeof(RecordHeader) + index * header().client_stride_bytes;
  return *reinterpret_cast<ClientBlock*>(memory_.data() + offset);
}

std::uint32_t Recorder::clients() const { return header().clients; }

ClientRecorder Recorder::client(std::uint32_t index) const {
  ClientBlock& own = block(index);
  auto* const samples =
      reinterpret_cast<Sample*>(reinterpret_cast<std::byte*>(&own) + sizeof(ClientBlock));
  return {&own, samples, header().exact_capacity};
}

std::uint32_t Recorder::in_flight(std::uint32_t index) const {
  return std::atomic_ref(block(index).boundary_steps).load(std::memory_order_relaxed) % 2;
}

void Recorder::set_state(RecordState state) {
  std::atomic_ref(header().state)
      .store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

void Recorder::set_load(const LoadRecord& load) {
  RecordHeader& to = header();
  to.iterations = load.iterations;
  to.min_samples = load.min_samples;
  to.exact_iterations = load.exact_iterations ? 1 : 0;
  to.repeat_input = load.repeat_input ? 1 : 0;
  to.max_duration_ns = load.max_duration_ns;
  to.min_duration_ns = load.min_duration_ns;
  to.seed = load.seed;
  to.planned_calls = load.planned_calls;
  // The narrowest power of two with which the slices cover the longest window.
  std::uint32_t log2 = 0;
  while ((static_cast<std::int64_t>(kSliceCount) << log2) < load.max_duration_ns && log2 < 50) {
    ++log2;
  }
  to.slice_ns = std::int64_t{1} << log2;
  for (std::uint32_t i = 0; i < to.clients; ++i) block(i).slice_log2 = log2;
}

void Recorder::set_warmup(const WarmupRecord& warmup) {
  RecordHeader& to = header();
  to.cold_call_ns = warmup.cold_call_ns;
  to.load_to_first_result_ns = warmup.load_to_first_result_ns;
  to.warmup_duration_ns = warmup.duration_ns;
  to.warmup_calls = warmup.calls;
  to.warmup_failures = warmup.failures;
  to.warmup_steady = warmup.steady ? 1 : 0;
  to.warmup_last_median_ns = warmup.last_median_ns;
  to.warmup_previous_median_ns = warmup.previous_median_ns;
}

void Recorder::set_in_flight(const InFlightRecord& in_flight) {
  header().in_flight_looks = in_flight.looks;
  header().in_flight_sum = in_flight.sum;
  header().in_flight_sum_of_squares = in_flight.sum_of_squares;
}

void Recorder::set_window_start(std::int64_t start_ns) {
  std::atomic_ref(header().window_start_ns).store(start_ns, std::memory_order_release);
}

void Recorder::set_window_end(std::int64_t end_ns, EndReason reason) {
  header().window_end_ns = end_ns;
  header().end_reason = static_cast<std::uint32_t>(reason);
}

Result<RecordView> parse(std::span<const std::byte> memory) {
  RecordHeader header;
  RETURN_IF_ERROR(read_header(memory, header));
  RecordView view = view_of(header);
  for (std::uint32_t i = 0; i < header.clients; ++i) {
    const std::size_t offset = sizeof(RecordHeader) + i * header.client_stride_bytes;
    Result<ClientRecord> client = read_client(memory, offset, header.exact_capacity);
    if (!client.ok()) return client.status().with_context(fmt::format("client {}", i));
    view.clients.push_back(*std::move(client));
  }
  return view;
}

Result<Progress> read_progress(std::span<const std::byte> memory) {
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(std::uint64_t) != 0) {
    return invalid_argument("latency record: memory is not aligned to 8 bytes");
  }
  RecordHeader header;
  RETURN_IF_ERROR(read_header(memory, header));
  Progress progress{.state = static_cast<RecordState>(header.state),
                    .calls_returned = 0,
                    .planned_calls = header.planned_calls,
                    .window_start_ns = header.window_start_ns};
  for (std::uint32_t i = 0; i < header.clients; ++i) {
    const std::size_t offset = sizeof(RecordHeader) + i * header.client_stride_bytes;
    progress.calls_returned += read_live(memory, offset + offsetof(ClientBlock, successes)) +
                               read_live(memory, offset + offsetof(ClientBlock, failures));
  }
  return progress;
}

}  // namespace assay::loadgen
