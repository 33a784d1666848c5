#include "loaded_model.h"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "signature.h"

namespace kserve {
namespace {

using assay::backend::Error;
using assay::backend::Inputs;
using assay::backend::Outputs;
using assay::backend::TensorSpec;
using Clock = std::chrono::steady_clock;

std::string milliseconds_text(double ns) {
  char text[48];
  (void)std::snprintf(text, sizeof text, "%.3f ms", ns / 1e6);
  return text;
}

// Values that an answer may have: as many as its outputs, where their shapes are fixed but for the
// batch; otherwise as many as fit into the largest answer.
std::size_t values_limit(const Artifact& artifact) {
  const std::size_t most = artifact.options.max_answer_bytes() / 4;
  std::uint64_t total = 0;
  for (const TensorSpec& output : artifact.signature.outputs) {
    std::uint64_t count = 1;
    for (const std::int64_t size : output.shape) {
      if (size < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(size), &count)) {
        return most;
      }
    }
    total += count;
  }
  return static_cast<std::size_t>(std::min<std::uint64_t>(total, most));
}

// " (0.100 ms in its queue, 0.200 ms computing)" a call; "" where the server does not tell.
std::string parts_text(const Statistics& before, const Statistics& after, std::uint64_t calls) {
  if (!before.queue_ns || !after.queue_ns || !before.compute_ns || !after.compute_ns) return "";
  if (*after.queue_ns < *before.queue_ns || *after.compute_ns < *before.compute_ns) return "";
  const auto each = [calls](std::uint64_t from, std::uint64_t to) {
    return milliseconds_text(static_cast<double>(to - from) / static_cast<double>(calls));
  };
  return " (" + each(*before.queue_ns, *after.queue_ns) + " in its queue, " +
         each(*before.compute_ns, *after.compute_ns) + " computing)";
}

}  // namespace

LoadedModel::LoadedModel(Artifact artifact, std::int64_t batch_size)
    : artifact_(std::move(artifact)),
      connections_(artifact_.options, read_token(artifact_.options)) {
  limits_.values = values_limit(artifact_);
  Connection connection = connections_.take();
  check_ready(connection, artifact_.options);
  check_unchanged(connection);
  check_batch(batch_size);
  before_ = statistics(connection, artifact_.options);
  connections_.give_back(std::move(connection));
}

void LoadedModel::check_unchanged(Connection& connection) const {
  const ServerInfo server = server_info(connection);
  const Metadata metadata = model_metadata(connection, artifact_.options);
  const auto text = [](const ServerInfo& info, const assay::backend::Signature& signature) {
    return info.name + ' ' + info.version + " with " + described(signature.inputs) + " -> " +
           described(signature.outputs);
  };
  const std::string then = text(artifact_.server, artifact_.declared);
  const std::string now = text(server, metadata.signature);
  if (then == now) return;
  throw Error(ASSAY_FAILED_PRECONDITION, artifact_.options.url + ": the artifact was made for " +
                                             then + "; there is now " + now + ": compile again");
}

void LoadedModel::check_batch(std::int64_t batch_size) const {
  for (const TensorSpec& input : artifact_.signature.inputs) {
    if (input.shape.empty() || input.shape[0] < 0 || input.shape[0] == batch_size) continue;
    throw Error(ASSAY_INVALID_ARGUMENT, "batch size " + std::to_string(batch_size) +
                                            ": the server's model takes input \"" + input.name +
                                            "\" as " + shape_text(input.shape) +
                                            "; run batch size " + std::to_string(input.shape[0]));
  }
}

void LoadedModel::predict(const Inputs& inputs, Outputs& outputs) {
  const std::vector<TensorSpec>& specs = artifact_.signature.outputs;
  const Call call{"assay-" + std::to_string(++calls_), inputs.data(), inputs.size(), &specs,
                  artifact_.options.transport};
  Connection connection = connections_.take();
  const Clock::time_point begin = Clock::now();
  const Reply reply = post_inference(connection, artifact_.options, call);
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
  connections_.give_back(std::move(connection));
  time_ns_ += static_cast<std::uint64_t>(time.count());
  ++answered_;

  const Answer answer = parse_answer(reply.body, reply.header_length, limits_);
  check_id(answer, call.id);
  bool as_bytes = true;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const OutputAnswer& output = matching_output(answer, specs[i]);
    as_bytes = as_bytes && output.binary_size.has_value();
    copy_output(output, specs[i].dtype,
                outputs.allocate(i, output.shape->data(), output.shape->size()));
  }
  if (!as_bytes) ++json_answers_;
}

std::string LoadedModel::time_note(Connection& connection) {
  const std::string unknown =
      "network not separable: the server reports no time of its own for its calls.";
  const std::optional<Statistics> after = statistics(connection, artifact_.options);
  const std::uint64_t answered = answered_;
  if (!before_ || !after || answered == 0) return unknown;
  if (after->calls <= before_->calls || after->time_ns < before_->time_ns) return unknown;
  const std::uint64_t served = after->calls - before_->calls;
  const double own =
      static_cast<double>(after->time_ns - before_->time_ns) / static_cast<double>(served);
  const double whole = static_cast<double>(time_ns_) / static_cast<double>(answered);
  std::string note = "of " + milliseconds_text(whole) + " from request to answer (mean of " +
                     std::to_string(answered) + " calls) the server reports " +
                     milliseconds_text(own) + " as its own" + parts_text(*before_, *after, served) +
                     "; ";
  if (served != answered) {
    return note + "not comparable call by call: it served " + std::to_string(served) + " calls.";
  }
  return note + milliseconds_text(whole - own) + " are network, HTTP and waiting in between.";
}

std::string LoadedModel::facts() {
  const Options& options = artifact_.options;
  Json notes = Json::array();
  notes.push_back("remote: calls go to model " + options.model + " of " + artifact_.server.name +
                  ' ' + artifact_.server.version + " at " + options.url + ", tensors as " +
                  (options.transport == Transport::kBinary ? "bytes" : "JSON") +
                  "; device, memory and load are that server's, not this host's.");
  Connection connection = connections_.take();
  notes.push_back(time_note(connection));
  connections_.give_back(std::move(connection));
  if (options.transport == Transport::kBinary && json_answers_ > 0) {
    notes.push_back("the server answered requests of bytes in JSON.");
  }
  if (const std::uint64_t repeated = connections_.repeated(); repeated > 0) {
    notes.push_back(
        std::to_string(repeated) +
        " requests were sent once more, since the server had closed an idle connection.");
  }
  return Json{{"notes", std::move(notes)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kserve
