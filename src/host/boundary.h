#pragma once

// Internal to the room: what every call over the C boundary needs.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/backend.h"
#include "base/status.h"

namespace assay::host {

// The message buffer of one call. Lives on the stack; not cleared beyond its first byte.
class CallError {
 public:
  CallError() : error_{ASSAY_OK, 0, text_.data(), text_.size(), 0} { text_[0] = '\0'; }
  CallError(const CallError&) = delete;
  CallError& operator=(const CallError&) = delete;

  assay_error* get() { return &error_; }

  // Ok for ASSAY_OK; else "`where`: `what`: message" with the backend's code.
  Status to_status(std::int32_t code, std::string_view where, std::string_view what) const;

 private:
  std::array<char, 1024> text_;  // NOLINT(cppcoreguidelines-pro-type-member-init): hot path
  assay_error error_;
};

// The same for a code and a message (may be null) that came without a buffer.
Status status_of(std::int32_t code, const char* message, std::string_view where,
                 std::string_view what);

// Collects what a backend writes into a text sink.
class TextCollector {
 public:
  TextCollector() : sink_{sizeof(assay_text_sink), 0, this, &TextCollector::write} {}
  TextCollector(const TextCollector&) = delete;
  TextCollector& operator=(const TextCollector&) = delete;

  const assay_text_sink* sink() const { return &sink_; }
  std::string take() { return std::move(text_); }
  // kResourceExhausted when a piece could not be kept.
  Status status() const;

 private:
  static void write(void* context, const char* data, std::uint64_t size);

  std::string text_;
  bool lost_ = false;
  assay_text_sink sink_;
};

inline assay_text borrowed(std::string_view text) { return {text.data(), text.size()}; }

// "" for null.
inline std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace assay::host
