// Fuzz entry of OutputReader: any bytes are refused or read, and never more than that. Linked with
// libFuzzer where ASSAY_BUILD_FUZZ is on; the unit tests drive it with seeded mutations.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "check/output_store.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  const int fd = ::memfd_create("store", MFD_CLOEXEC);
  if (fd < 0) return 0;
  if (::write(fd, data, size_bytes) == static_cast<ssize_t>(size_bytes)) {
    const std::filesystem::path path = "/proc/self/fd/" + std::to_string(fd);
    auto reader = assay::check::OutputReader::open(path);
    // A valid header may claim many samples of a few bytes each; a few of them are enough.
    const std::uint64_t samples =
        reader.ok() ? std::min<std::uint64_t>(reader->sample_count(), 64) : 0;
    for (std::uint64_t sample = 0; sample < samples; ++sample) {
      (void)reader->has(sample).ok();
      for (std::size_t output = 0; output < reader->outputs().size(); ++output) {
        (void)reader->output(sample, output).ok();
      }
    }
  }
  ::close(fd);
  return 0;
}
