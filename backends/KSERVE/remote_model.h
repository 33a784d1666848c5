#pragma once

// The protocol's questions about a server and a model, each one HTTP request. Failures throw,
// naming the request's URL, with the code that fits the HTTP status.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer.h"
#include "assay/backend.hpp"
#include "connection.h"
#include "options.h"

namespace kserve {

struct ServerInfo {
  std::string name;
  std::string version;
  std::vector<std::string> extensions;
};

// What the server says of the model. Lists are empty when it does not say.
struct Metadata {
  std::string platform;
  assay::backend::Signature signature;
};

// Inference as the server counts it since it started.
struct Statistics {
  std::uint64_t calls = 0;
  std::uint64_t time_ns = 0;
  // Parts of it, where the server tells them apart.
  std::optional<std::uint64_t> queue_ns;
  std::optional<std::uint64_t> compute_ns;
};

// Throws ASSAY_UNAVAILABLE when server or model are not ready. A server without these endpoints is
// taken to be.
void check_ready(Connection& connection, const Options& options);
ServerInfo server_info(Connection& connection);
Metadata model_metadata(Connection& connection, const Options& options);
// Nothing when the server has no statistics.
std::optional<Statistics> statistics(Connection& connection, const Options& options);

// One inference. The reply's body is what parse_answer takes.
struct Call {
  std::string id;
  const assay_tensor* inputs = nullptr;
  std::size_t input_count = 0;
  const std::vector<assay::backend::TensorSpec>* outputs = nullptr;
  Transport transport = Transport::kJson;
};
Reply post_inference(Connection& connection, const Options& options, const Call& call);

// Throws ASSAY_DATA_LOSS when the answer belongs to another request.
void check_id(const Answer& answer, const std::string& id);

}  // namespace kserve
