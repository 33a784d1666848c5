#include "base/clock.h"

namespace assay {

UtcTime utc_now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  UtcTime result{};
  std::strftime(result.text, sizeof(result.text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return result;
}

}  // namespace assay
