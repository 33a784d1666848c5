#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_value.h"
#include "base/result.h"

namespace assay::worker {

// No message is longer; a longer announcement is a broken or hostile peer.
inline constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 20;

// A JSON message and the file descriptor that came with it (-1: none), which the receiver owns.
struct Message {
  JsonValue body;
  int fd = -1;
};

// One end of a socket pair that carries JSON messages, each a 4-byte little-endian length and UTF-8
// text, optionally with one file descriptor. Owns its descriptor. One reader and one writer thread.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  ~Channel();

  int fd() const { return fd_; }
  // The other end reads what was sent, then that no more will come.
  void end_sending();
  void close();

  // kUnavailable when the peer is gone.
  Status send(const Json& message, int passed_fd = -1);

  // Waits until `deadline` (for ever without one): kDeadlineExceeded when nothing came,
  // kUnavailable when the peer closed, kDataLoss when the bytes are not a message. After
  // kDeadlineExceeded the call may simply be repeated; bytes that had come are kept.
  Result<Message> receive(std::optional<std::chrono::steady_clock::time_point> deadline);

 private:
  Status read_some(std::optional<std::chrono::steady_clock::time_point> deadline);

  int fd_ = -1;
  int pending_fd_ = -1;
  std::string buffer_;
};

// The text of one complete frame at the start of `buffer`, removed from it; nullopt when more bytes
// are needed; kDataLoss for an impossible length.
Result<std::optional<std::string>> take_frame(std::string& buffer);

}  // namespace assay::worker
