#pragma once

// Errors as values. A function that can fail returns Status, or Result<T> when it has something to
// give. The message says what failed, where, and both sides of a mismatch:
//   input "x": got FLOAT32 [1,3,224,224], model wants FLOAT16 [1,3,224,224]

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace assay {

// The gRPC canonical codes, with their numbers. Chosen by what the caller should do.
enum class StatusCode : std::int32_t {
  kOk = 0,
  kCancelled = 1,           // the user or a deadline owner stopped it
  kUnknown = 2,             // foreign code failed without saying how
  kInvalidArgument = 3,     // the request is wrong whatever the state: fix the input
  kDeadlineExceeded = 4,    // took longer than allowed
  kNotFound = 5,            // a named thing does not exist
  kAlreadyExists = 6,       // would overwrite
  kPermissionDenied = 7,    // the operating system said no
  kResourceExhausted = 8,   // memory, disk, queue or device is full
  kFailedPrecondition = 9,  // right request, wrong state: do something else first
  kAborted = 10,            // lost a race, retry at a higher level
  kOutOfRange = 11,         // value outside what is accepted
  kUnimplemented = 12,      // not supported by this backend or version
  kInternal = 13,           // a bug, ours or the backend's
  kUnavailable = 14,        // device or peer not there now
  kDataLoss = 15,           // bytes are corrupt or truncated
};

// "INVALID_ARGUMENT" and so on; "CODE_42" for a number outside the list.
std::string status_code_name(StatusCode code);

// Value type, cheap when ok. Thread rule: as std::string.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // "context: message", same code. An ok status stays as it is.
  Status with_context(std::string_view context) const;

  // "OK" or "NOT_FOUND: message".
  std::string to_string() const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status ok_status() { return {}; }
Status invalid_argument(std::string message);
Status not_found(std::string message);
Status already_exists(std::string message);
Status permission_denied(std::string message);
Status resource_exhausted(std::string message);
Status failed_precondition(std::string message);
Status out_of_range(std::string message);
Status unimplemented(std::string message);
Status internal_error(std::string message);
Status unavailable(std::string message);
Status data_loss(std::string message);
Status deadline_exceeded(std::string message);
Status cancelled(std::string message);

// Status of a failed system call: code chosen from errno_value, message "what: strerror".
Status errno_status(int errno_value, std::string_view what);

}  // namespace assay
