#include "report/host_facts.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "base/cgroup.h"
#include "base/cpus.h"
#include "base/file.h"

namespace assay::report {
namespace fs = std::filesystem;
namespace {

// What can change the result of arithmetic (width and order of sums, fused rounding, reduced
// precision) or its speed by a factor. x86 names first, then Arm's.
constexpr std::array<std::string_view, 22> kNumericFlags{
    "sse4_2",      "avx",      "avx2",     "fma",      "f16c",        "avx_vnni",
    "avx512f",     "avx512bw", "avx512vl", "avx512dq", "avx512_vnni", "avx512_bf16",
    "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8", "asimd",       "asimdhp",
    "asimddp",     "sve",      "bf16",     "i8mm"};

constexpr std::uint64_t kLargestFileBytes = std::uint64_t{8} * 1024 * 1024;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

template <typename Function>
void for_each_piece(std::string_view text, char separator, Function function) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    function(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// One processor's "key : value" lines.
using Processor = std::map<std::string, std::string, std::less<>>;

std::vector<Processor> processors_of(std::string_view text) {
  std::vector<Processor> processors;
  for_each_piece(text, '\n', [&](std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string key(trimmed(line.substr(0, colon)));
    if (key == "processor") processors.emplace_back();
    if (!processors.empty()) processors.back()[key] = trimmed(line.substr(colon + 1));
  });
  return processors;
}

std::optional<std::string> value_of(const Processor& processor, std::string_view key) {
  const auto found = processor.find(key);
  if (found == processor.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::optional<int> threads_per_core(const Processor& processor) {
  const auto siblings = parse_whole<int>(value_of(processor, "siblings").value_or(""));
  const auto cores = parse_whole<int>(value_of(processor, "cpu cores").value_or(""));
  if (!siblings || !cores || *cores < 1 || *siblings < *cores) return std::nullopt;
  return *siblings / *cores;
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json or_null_text(std::string_view text) {
  const std::string_view content = trimmed(text);
  return content.empty() ? Json(nullptr) : Json(content);
}

// Reads files of the kernel below a root; what is not there is empty.
class HostFiles {
 public:
  explicit HostFiles(fs::path root) : root_(std::move(root)) {}

  std::string text(std::string_view path) const {
    const auto content = read_file(root_ / path, kLargestFileBytes);
    return content.ok() ? *content : "";
  }
  bool exists(std::string_view path) const {
    std::error_code ignored;
    return fs::exists(root_ / path, ignored);
  }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

std::optional<bool> turbo(const HostFiles& files) {
  const std::string no_turbo = files.text("sys/devices/system/cpu/intel_pstate/no_turbo");
  if (!no_turbo.empty()) return trimmed(no_turbo) == "0";
  const std::string boost = files.text("sys/devices/system/cpu/cpufreq/boost");
  if (!boost.empty()) return trimmed(boost) == "1";
  return std::nullopt;
}

Json hypervisor(const HostFiles& files, const CpuInfo& cpu) {
  std::string type(trimmed(files.text("sys/hypervisor/type")));
  if (!type.empty()) return type;
  const std::string product(trimmed(files.text("sys/class/dmi/id/product_name")));
  if (!cpu.hypervisor) return nullptr;
  return product.empty() ? Json("yes") : Json(product);
}

bool in_container(const HostFiles& files) {
  if (files.exists(".dockerenv") || files.exists("run/.containerenv")) return true;
  return files.text("proc/1/environ").find("container=") != std::string::npos;
}

void add_processor(const HostFiles& files, Json& facts) {
  const CpuInfo cpu = parse_cpuinfo(files.text("proc/cpuinfo"));
  const auto online = parse_cpu_list_count(files.text("sys/devices/system/cpu/online"));
  facts["cpu_model"] = or_null(cpu.model);
  utsname system{};
  facts["architecture"] = ::uname(&system) == 0 ? or_null_text(system.machine) : Json(nullptr);
  facts["vendor"] = or_null(cpu.vendor);
  facts["cores_logical"] = cpu.processors > 0 ? Json(cpu.processors) : or_null(online);
  facts["cores_usable"] = usable_cpus();
  facts["sockets"] = or_null(cpu.sockets);
  facts["threads_per_core"] = or_null(cpu.threads_per_core);
  facts["numeric_flags"] = cpu.flags.empty() ? Json(nullptr) : Json(numeric_flags(cpu.flags));
  facts["cpu_quota_cores"] = or_null(cgroup_cpu_quota_cores(files.root()));
  facts["governor"] =
      or_null_text(files.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  facts["turbo"] = or_null(turbo(files));
  facts["hypervisor"] = hypervisor(files, cpu);
}

void add_memory(const HostFiles& files, Json& facts) {
  facts["memory_bytes"] = or_null(parse_meminfo_total_bytes(files.text("proc/meminfo")));
  facts["memory_limit_bytes"] = or_null(cgroup_memory_limit_bytes(files.root()));
  facts["transparent_hugepages"] =
      or_null(parse_selected(files.text("sys/kernel/mm/transparent_hugepage/enabled")));
}

void add_system(const HostFiles& files, Json& facts) {
  utsname system{};
  facts["kernel"] = ::uname(&system) == 0 ? or_null_text(system.release) : Json(nullptr);
  facts["distribution"] = or_null(parse_os_release_name(files.text("etc/os-release")));
  facts["libc"] = fmt::format("glibc {}", gnu_get_libc_version());
  facts["container"] = in_container(files);
}

}  // namespace

CpuInfo parse_cpuinfo(std::string_view text) {
  CpuInfo info;
  const std::vector<Processor> processors = processors_of(text);
  info.processors = static_cast<int>(processors.size());
  if (processors.empty()) return info;
  const Processor& first = processors.front();
  info.model = value_of(first, "model name");
  info.vendor = value_of(first, "vendor_id");
  if (!info.vendor) info.vendor = value_of(first, "CPU implementer");
  const auto flags = value_of(first, "flags");
  for_each_piece(flags ? *flags : value_of(first, "Features").value_or(""), ' ',
                 [&](std::string_view flag) {
                   if (!flag.empty()) info.flags.emplace_back(flag);
                 });
  info.threads_per_core = threads_per_core(first);
  info.hypervisor =
      std::find(info.flags.begin(), info.flags.end(), "hypervisor") != info.flags.end();
  std::set<std::string> sockets;
  for (const Processor& processor : processors) {
    if (const auto socket = value_of(processor, "physical id")) sockets.insert(*socket);
  }
  if (!sockets.empty()) info.sockets = static_cast<int>(sockets.size());
  return info;
}

std::vector<std::string> numeric_flags(const std::vector<std::string>& flags) {
  std::vector<std::string> kept;
  for (const std::string_view flag : kNumericFlags) {
    if (std::find(flags.begin(), flags.end(), flag) != flags.end()) kept.emplace_back(flag);
  }
  return kept;
}

std::optional<std::uint64_t> parse_meminfo_total_bytes(std::string_view text) {
  std::optional<std::uint64_t> bytes;
  for_each_piece(text, '\n', [&](std::string_view line) {
    constexpr std::string_view kKey = "MemTotal:";
    if (bytes || !line.starts_with(kKey)) return;
    const std::string_view value = trimmed(line.substr(kKey.size()));
    const auto kib = parse_whole<std::uint64_t>(value.substr(0, value.find(' ')));
    if (kib && *kib <= (std::uint64_t{1} << 53)) bytes = *kib * 1024;
  });
  return bytes;
}

std::optional<std::string> parse_os_release_name(std::string_view text) {
  std::optional<std::string> name;
  for_each_piece(text, '\n', [&](std::string_view line) {
    constexpr std::string_view kKey = "PRETTY_NAME=";
    if (!line.starts_with(kKey)) return;
    std::string_view value = trimmed(line.substr(kKey.size()));
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
        value.front() == value.back()) {
      value = value.substr(1, value.size() - 2);
    }
    if (!value.empty()) name = std::string(value);
  });
  return name;
}

std::optional<std::string> parse_selected(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2) {
    return std::nullopt;
  }
  return std::string(text.substr(open + 1, close - open - 1));
}

std::optional<int> parse_cpu_list_count(std::string_view text) {
  int count = 0;
  bool valid = !trimmed(text).empty();
  for_each_piece(trimmed(text), ',', [&](std::string_view range) {
    const std::size_t dash = range.find('-');
    const auto low = parse_whole<int>(range.substr(0, dash));
    const auto high =
        dash == std::string_view::npos ? low : parse_whole<int>(range.substr(dash + 1));
    if (!low || !high || *low < 0 || *high < *low) {
      valid = false;
      return;
    }
    count += *high - *low + 1;
  });
  return valid ? std::optional(count) : std::nullopt;
}

Json host_facts(const fs::path& root) {
  const HostFiles files(root);
  Json facts = Json::object();
  add_processor(files, facts);
  add_memory(files, facts);
  add_system(files, facts);
  return facts;
}

}  // namespace assay::report
