#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "options.h"

namespace kserve {

struct Reply {
  int status = 0;
  std::string body;
  std::optional<std::uint64_t> header_length;  // Inference-Header-Content-Length

  bool ok() const { return status == 200; }
};

// One connection that is kept alive, without delay of small packets. One call at a time.
//
// Calls throw ASSAY_UNAVAILABLE when the server cannot be reached or hangs up,
// ASSAY_DEADLINE_EXCEEDED when it does not answer in time, ASSAY_DATA_LOSS when the answer is cut
// short or larger than it may be; each names the URL. Replies of any status are returned. A server
// may close a connection at the moment it is used again: when no byte of an answer came on a
// connection that had been idle, the request is sent once more, on a new one.
class Connection {
 public:
  // `token` is sent with each request; "" for none.
  Connection(const Options& options, std::string token);
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  Reply get(const std::string& path);
  // `header_length` as in InferRequest.
  Reply post(const std::string& path, const std::string& body,
             std::optional<std::size_t> header_length);

  const std::string& url() const;
  // Requests that were sent once more, so far.
  std::uint64_t repeated() const;

  // What a reply says went wrong, short and printable, without the token:
  // "POST http://host/v2/...: HTTP 500: no such model".
  std::string describe(const Reply& reply, const std::string& request) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kserve
