#include "host/boundary.h"

#include <fmt/format.h>

#include <new>
#include <stdexcept>

namespace assay::host {

Status status_of(std::int32_t code, const char* message, std::string_view where,
                 std::string_view what) {
  if (code == ASSAY_OK) return ok_status();
  const bool known = code > ASSAY_OK && code <= ASSAY_DATA_LOSS;
  const StatusCode status_code = known ? static_cast<StatusCode>(code) : StatusCode::kUnknown;
  std::string text = text_or_empty(message);
  if (text.empty()) text = "failed without a message";
  if (!known) text += fmt::format(" (code {}, which is none of the boundary's)", code);
  return {status_code, fmt::format("{}: {}: {}", where, what, text)};
}

Status CallError::to_status(std::int32_t code, std::string_view where,
                            std::string_view what) const {
  return status_of(code, text_.data(), where, what);
}

void TextCollector::write(void* context, const char* data, std::uint64_t size) {
  auto& self = *static_cast<TextCollector*>(context);
  // Called from the backend's frames, which no exception may cross.
  try {
    self.text_.append(data, size);
  } catch (const std::bad_alloc&) {
    self.lost_ = true;
  } catch (const std::length_error&) {
    self.lost_ = true;
  }
}

Status TextCollector::status() const {
  return lost_ ? resource_exhausted("the text that the backend wrote does not fit in memory")
               : ok_status();
}

}  // namespace assay::host
