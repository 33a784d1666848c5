#include "base/status.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace assay {
namespace {

constexpr std::array<std::string_view, 16> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS",
};

StatusCode code_of_errno(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case EEXIST:
      return StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return StatusCode::kResourceExhausted;
    case EINVAL:
    case EISDIR:
      return StatusCode::kInvalidArgument;
    case ETIMEDOUT:
      return StatusCode::kDeadlineExceeded;
    default:
      return StatusCode::kUnavailable;
  }
}

}  // namespace

std::string status_code_name(StatusCode code) {
  const auto index = static_cast<std::size_t>(code);
  if (index < kCodeNames.size()) return std::string(kCodeNames[index]);
  return fmt::format("CODE_{}", static_cast<std::int32_t>(code));
}

Status Status::with_context(std::string_view context) const {
  if (ok()) return *this;
  return {code_, fmt::format("{}: {}", context, message_)};
}

std::string Status::to_string() const {
  if (ok()) return "OK";
  return fmt::format("{}: {}", status_code_name(code_), message_);
}

Status invalid_argument(std::string message) {
  return {StatusCode::kInvalidArgument, std::move(message)};
}
Status not_found(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }
Status already_exists(std::string message) {
  return {StatusCode::kAlreadyExists, std::move(message)};
}
Status permission_denied(std::string message) {
  return {StatusCode::kPermissionDenied, std::move(message)};
}
Status resource_exhausted(std::string message) {
  return {StatusCode::kResourceExhausted, std::move(message)};
}
Status failed_precondition(std::string message) {
  return {StatusCode::kFailedPrecondition, std::move(message)};
}
Status out_of_range(std::string message) { return {StatusCode::kOutOfRange, std::move(message)}; }
Status unimplemented(std::string message) {
  return {StatusCode::kUnimplemented, std::move(message)};
}
Status internal_error(std::string message) { return {StatusCode::kInternal, std::move(message)}; }
Status unavailable(std::string message) { return {StatusCode::kUnavailable, std::move(message)}; }
Status data_loss(std::string message) { return {StatusCode::kDataLoss, std::move(message)}; }
Status deadline_exceeded(std::string message) {
  return {StatusCode::kDeadlineExceeded, std::move(message)};
}
Status cancelled(std::string message) { return {StatusCode::kCancelled, std::move(message)}; }

Status errno_status(int errno_value, std::string_view what) {
  const std::string reason = std::generic_category().message(errno_value);
  return {code_of_errno(errno_value), fmt::format("{}: {}", what, reason)};
}

}  // namespace assay
