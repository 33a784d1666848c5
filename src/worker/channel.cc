#include "worker/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_parse.h"

namespace assay::worker {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kHeaderBytes = 4;

int poll_timeout_ms(std::optional<Clock::time_point> deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

Status send_bytes(int fd, std::string_view bytes, int passed_fd) {
  while (!bytes.empty()) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    if (passed_fd >= 0) {
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      cmsghdr* entry = CMSG_FIRSTHDR(&header);
      entry->cmsg_level = SOL_SOCKET;
      entry->cmsg_type = SCM_RIGHTS;
      entry->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(entry), &passed_fd, sizeof(int));
    }
    const ssize_t sent = ::sendmsg(fd, &header, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return unavailable(errno_status(errno, "peer is gone").message());
    passed_fd = -1;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return ok_status();
}

// Takes the descriptor out of a received message, or -1; closes one that nobody asked for.
int passed_descriptor(msghdr& header) {
  int result = -1;
  for (cmsghdr* entry = CMSG_FIRSTHDR(&header); entry != nullptr;
       entry = CMSG_NXTHDR(&header, entry)) {
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) continue;
    if (result >= 0) ::close(result);
    std::memcpy(&result, CMSG_DATA(entry), sizeof(int));
  }
  return result;
}

}  // namespace

Channel::Channel(Channel&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      pending_fd_(std::exchange(other.pending_fd_, -1)),
      buffer_(std::move(other.buffer_)) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    pending_fd_ = std::exchange(other.pending_fd_, -1);
    buffer_ = std::move(other.buffer_);
  }
  return *this;
}

Channel::~Channel() { close(); }

void Channel::end_sending() { ::shutdown(fd_, SHUT_WR); }

void Channel::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (pending_fd_ >= 0) ::close(std::exchange(pending_fd_, -1));
}

Status Channel::send(const Json& message, int passed_fd) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto length = static_cast<std::uint32_t>(text.size());
  std::string frame(kHeaderBytes, '\0');
  for (std::size_t i = 0; i < kHeaderBytes; ++i) {
    frame[i] = static_cast<char>((length >> (8 * i)) & 0xFFU);
  }
  return send_bytes(fd_, frame + text, passed_fd);
}

Result<std::optional<std::string>> take_frame(std::string& buffer) {
  if (buffer.size() < kHeaderBytes) return std::optional<std::string>();
  std::size_t length = 0;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(buffer[i])) << (8 * i);
  }
  if (length > kMaxMessageBytes) {
    return data_loss(fmt::format("a message of {} bytes was announced, at most {} are allowed",
                                 length, kMaxMessageBytes));
  }
  if (buffer.size() < kHeaderBytes + length) return std::optional<std::string>();
  std::optional<std::string> text = buffer.substr(kHeaderBytes, length);
  buffer.erase(0, kHeaderBytes + length);
  return text;
}

Status Channel::read_some(std::optional<Clock::time_point> deadline) {
  pollfd wait{fd_, POLLIN, 0};
  const int ready = ::poll(&wait, 1, poll_timeout_ms(deadline));
  if (ready < 0 && errno == EINTR) return ok_status();
  if (ready < 0) return errno_status(errno, "cannot wait for a message");
  if (ready == 0) return deadline_exceeded("no message in time");
  std::array<char, 1 << 16> bytes;
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t count = ::recvmsg(fd_, &header, MSG_CMSG_CLOEXEC);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return ok_status();
  if (count <= 0) return unavailable("peer closed the channel");
  if (const int fd = passed_descriptor(header); fd >= 0) {
    if (pending_fd_ >= 0) ::close(pending_fd_);
    pending_fd_ = fd;
  }
  buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  return ok_status();
}

Result<Message> Channel::receive(std::optional<Clock::time_point> deadline) {
  while (true) {
    ASSIGN_OR_RETURN(std::optional<std::string> frame, take_frame(buffer_));
    if (frame) {
      const Result<Json> body = parse_json(*frame);
      if (!body.ok() || !body->is_object()) return data_loss("a message is not a JSON object");
      return Message{JsonValue(*body), std::exchange(pending_fd_, -1)};
    }
    RETURN_IF_ERROR(read_some(deadline));
  }
}

}  // namespace assay::worker
