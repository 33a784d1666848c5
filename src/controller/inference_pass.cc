#include "controller/inference_pass.h"

#include <fmt/format.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "controller/batch_splitter.h"
#include "controller/output_room.h"
#include "controller/typed_object.h"

namespace assay::controller {
namespace {

constexpr std::size_t kSlots = 4;  // batches decoded, running or being stored at once
constexpr std::chrono::seconds kInferTimeout{300};

// One pass: owns the pipeline between decoder, worker and store.
class Pass {
 public:
  Pass(Session& session, const PassRequest& request, RunObserver& observer)
      : session_(&session), request_(&request), observer_(&observer) {}

  Result<PassResult> run();

 private:
  Status load();
  Result<std::uint64_t> attempt(std::size_t capacity_bytes);
  Status pass_over(std::uint64_t& needed_bytes);
  Status submit(const dataset::Batch& batch);
  Status collect(std::uint64_t& needed_bytes);
  Status store(const dataset::Batch& batch);

  Session* session_;
  const PassRequest* request_;
  RunObserver* observer_;
  std::optional<BatchSplitter> splitter_;
  std::vector<TensorSpec> inputs_;
  LoadedModel loaded_;
  PassResult result_;
  std::unique_ptr<dataset::BatchSource> source_;
  std::optional<check::OutputWriter> writer_;
  std::vector<TensorSpec> sample_specs_;
  std::deque<dataset::Batch> running_;
};

Status Pass::load() {
  ASSIGN_OR_RETURN(inputs_,
                   batched_specs(*request_->dataset, request_->batch_axes, request_->batch_size));
  ASSIGN_OR_RETURN(loaded_, session_->load(request_->model, request_->batch_size, inputs_));
  if (loaded_.batch_size != request_->batch_size) {
    ASSIGN_OR_RETURN(inputs_,
                     batched_specs(*request_->dataset, request_->batch_axes, loaded_.batch_size));
  }
  ASSIGN_OR_RETURN(splitter_, BatchSplitter::create({.batch_size = loaded_.batch_size,
                                                     .batch_axes = request_->batch_axes,
                                                     .inputs = loaded_.inputs,
                                                     .outputs = loaded_.outputs}));
  result_.loaded_batch_size = loaded_.batch_size;
  result_.conversions = loaded_.conversions;
  return ok_status();
}

Result<PassResult> Pass::run() {
  RETURN_IF_ERROR(load());
  const std::size_t guess = worker::guess_output_bytes(loaded_.outputs, loaded_.batch_size);
  const Result<std::size_t> room =
      grow_output_room(guess, [this](std::size_t bytes) { return attempt(bytes); });
  RETURN_IF_ERROR(room.status());
  ASSIGN_OR_RETURN(result_.notes, session_->notes());
  if (loaded_.in_segments) {
    ASSIGN_OR_RETURN(result_.segments, session_->segments_used());
  }
  return result_;
}

Result<std::uint64_t> Pass::attempt(std::size_t capacity_bytes) {
  RETURN_IF_ERROR(session_->share_arena({.inputs = inputs_,
                                         .outputs = loaded_.outputs,
                                         .input_slots = kSlots,
                                         .output_slots = kSlots,
                                         .output_capacity_bytes = capacity_bytes}));
  std::uint64_t needed = 0;
  RETURN_IF_ERROR(pass_over(needed));
  return needed;
}

Status Pass::pass_over(std::uint64_t& needed_bytes) {
  writer_.reset();
  running_.clear();
  result_.samples = result_.padded_samples = 0;
  result_.backend_ns = 0;
  dataset::PrefetchOptions options;
  options.count = static_cast<std::size_t>(request_->samples);
  options.batch_size = static_cast<std::size_t>(loaded_.batch_size);
  options.batch_axes = request_->batch_axes;
  const std::int64_t start_ns = now_ns();
  ASSIGN_OR_RETURN(source_, dataset::BatchSource::start(
                                *request_->dataset,
                                slot_buffers(session_->layout(), session_->arena()), options));
  bool more = true;
  while ((more || !running_.empty()) && needed_bytes == 0) {
    if (more && running_.size() + 1 < kSlots) {
      ASSIGN_OR_RETURN(const std::optional<dataset::Batch> batch, source_->next());
      more = batch.has_value();
      if (batch) RETURN_IF_ERROR(submit(*batch));
      continue;
    }
    RETURN_IF_ERROR(collect(needed_bytes));
  }
  // A slot turned out too small: let the worker finish what it was given, then start over.
  while (!running_.empty()) {
    std::uint64_t ignored = 0;
    RETURN_IF_ERROR(collect(ignored));
  }
  source_.reset();  // its threads write into the arena, which may be replaced now
  if (needed_bytes > 0) return ok_status();
  RETURN_IF_ERROR(writer_->finish());
  result_.wall_ns = now_ns() - start_ns;
  return ok_status();
}

Status Pass::submit(const dataset::Batch& batch) {
  running_.push_back(batch);
  return session_->client().send("infer", Json{{"slot", batch.slot}});
}

Status Pass::collect(std::uint64_t& needed_bytes) {
  const dataset::Batch batch = running_.front();
  const auto where = [&] {
    return fmt::format("samples {} to {}", request_->dataset->sample_id(batch.first),
                       request_->dataset->sample_id(batch.first + batch.count - 1));
  };
  const Result<Json> answer = session_->client().receive("infer", session_->options(kInferTimeout));
  running_.pop_front();
  if (!answer.ok()) return answer.status().with_context(where());
  const TypedObject members(*answer, "the worker's answer to infer");
  ASSIGN_OR_RETURN(needed_bytes, missing_output_bytes(members));
  if (needed_bytes > 0) return ok_status();
  ASSIGN_OR_RETURN(const std::int64_t infer_ns, members.integer("infer_ns"));
  result_.backend_ns += infer_ns;
  const Status stored = store(batch);
  source_->release(batch.slot);
  observer_->progress(result_.samples, request_->samples, "samples");
  return stored.with_context(where());
}

Status Pass::store(const dataset::Batch& batch) {
  const auto slot = worker::output_slot(session_->layout(), session_->arena(), batch.slot);
  ASSIGN_OR_RETURN(const std::vector<TensorView> outputs,
                   worker::read_output_slot(session_->layout(), slot));
  ASSIGN_OR_RETURN(std::vector<TensorSpec> specs, splitter_->sample_specs(outputs));
  if (!writer_) {
    sample_specs_ = specs;
    ASSIGN_OR_RETURN(check::OutputWriter writer,
                     check::OutputWriter::open(request_->store, request_->identity,
                                               std::move(specs), request_->samples));
    writer_.emplace(std::move(writer));
    for (const TensorView& output : outputs) result_.output_bytes_per_batch += output.bytes.size();
  } else if (specs != sample_specs_) {
    return unimplemented(
        fmt::format("outputs change their shape from batch to batch: first {}, now {}",
                    to_string(sample_specs_.front()), to_string(specs.front())));
  }
  for (std::uint64_t i = 0; i < batch.count; ++i) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      RETURN_IF_ERROR(writer_->write(batch.first + i, k, splitter_->row(outputs[k], i)));
    }
  }
  result_.samples += batch.count;
  result_.padded_samples += static_cast<std::uint64_t>(loaded_.batch_size) - batch.count;
  return ok_status();
}

}  // namespace

Result<PassResult> run_inference_pass(Session& session, const PassRequest& request,
                                      RunObserver& observer) {
  return Pass(session, request, observer).run();
}

Result<std::vector<TensorSpec>> batched_specs(
    const dataset::Dataset& dataset, const std::vector<std::optional<std::size_t>>& batch_axes,
    std::int64_t n) {
  std::vector<TensorSpec> specs(dataset.specs().begin(), dataset.specs().end());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::optional<std::size_t> axis =
        i < batch_axes.size() ? batch_axes[i] : std::optional<std::size_t>(0);
    if (!axis) continue;
    ASSIGN_OR_RETURN(specs[i].shape, with_batch(specs[i].shape, n, *axis));
  }
  return specs;
}

std::vector<dataset::BatchBuffers> slot_buffers(const worker::ArenaLayout& layout,
                                                std::span<std::byte> arena) {
  std::vector<dataset::BatchBuffers> slots;
  for (std::size_t slot = 0; slot < layout.input_slots; ++slot) {
    dataset::BatchBuffers buffers;
    for (std::size_t k = 0; k < layout.inputs.size(); ++k) {
      buffers.push_back(worker::input_bytes(layout, arena, slot, k));
    }
    slots.push_back(std::move(buffers));
  }
  return slots;
}

}  // namespace assay::controller
