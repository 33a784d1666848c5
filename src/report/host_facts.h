#pragma once

// What the host is: the `provenance.host` object of result.json, and what `assay env` prints. Best
// effort: what a host does not tell is null, and nothing here fails.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay::report {

// Of the first processor in /proc/cpuinfo, and counts over all.
struct CpuInfo {
  std::optional<std::string> model, vendor;
  std::vector<std::string> flags;  // all, as the kernel names them
  int processors = 0;
  std::optional<int> sockets;
  std::optional<int> threads_per_core;
  bool hypervisor = false;

  friend bool operator==(const CpuInfo&, const CpuInfo&) = default;
};

// Parsers of the kernel's and the distribution's texts. Pure; any text is safe.
CpuInfo parse_cpuinfo(std::string_view text);
// Those of `flags` that can change what arithmetic gives or how fast it is, in a fixed order.
std::vector<std::string> numeric_flags(const std::vector<std::string>& flags);
std::optional<std::uint64_t> parse_meminfo_total_bytes(std::string_view text);
std::optional<std::string> parse_os_release_name(std::string_view text);
// "always [madvise] never" -> "madvise"
std::optional<std::string> parse_selected(std::string_view text);
// How many processors a list names: "0-3,8" -> 4. None for text of another form.
std::optional<int> parse_cpu_list_count(std::string_view text);

// Reads below `root` ("/" but in tests). The number of usable processors and the kernel come from
// the running process whatever the root is. Takes a few milliseconds.
Json host_facts(const std::filesystem::path& root = "/");

}  // namespace assay::report
