#include "options.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <openvino/runtime/properties.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "openvino_core.h"

namespace openvino {
namespace {

using assay::backend::Document;
using assay::backend::Error;

struct Precision {
  std::string_view name;
  ov::element::Type_t type;
  std::string_view capability;  // as OpenVINO lists it for a device
};
constexpr std::array<Precision, 3> kPrecisions = {{{"fp32", ov::element::Type_t::f32, "FP32"},
                                                   {"bf16", ov::element::Type_t::bf16, "BF16"},
                                                   {"fp16", ov::element::Type_t::f16, "FP16"}}};
constexpr std::array<std::string_view, 4> kPrecisionNames = {"fp32", "bf16", "fp16", "default"};
constexpr std::array<std::string_view, 3> kHints = {"latency", "throughput", "none"};
constexpr int kMostThreads = 4096;
constexpr std::string_view kAuto = "auto";

[[noreturn]] void refuse(std::string_view name, const std::string& value,
                         const std::string& accepted) {
  throw Error(ASSAY_INVALID_ARGUMENT,
              "option " + std::string(name) + ": found \"" + value + "\", accepted: " + accepted);
}

std::optional<int> parse_count(std::string_view name, const std::string& value) {
  if (value == kAuto) return std::nullopt;
  int count = 0;
  const char* const end = value.data() + value.size();
  const auto [parsed, error] = std::from_chars(value.data(), end, count);
  if (error != std::errc() || parsed != end || count < 1 || count > kMostThreads) {
    refuse(name, value, "auto, or a number from 1 to " + std::to_string(kMostThreads));
  }
  return count;
}

std::string parse_choice(std::string_view name, const std::string& value,
                         std::span<const std::string_view> choices) {
  std::string accepted;
  for (const std::string_view choice : choices) {
    if (value == choice) return value;
    accepted += (accepted.empty() ? "" : ", ") + std::string(choice);
  }
  refuse(name, value, accepted);
}

void set_precision(const std::string& name, ov::AnyMap& settings) {
  const auto* precision = std::find_if(kPrecisions.begin(), kPrecisions.end(),
                                       [&](const Precision& row) { return row.name == name; });
  if (precision == kPrecisions.end()) return;  // default
  const std::vector<std::string> able = core().get_property(kDevice, ov::device::capabilities);
  if (std::find(able.begin(), able.end(), precision->capability) == able.end()) {
    throw Error(ASSAY_UNIMPLEMENTED, "option inference_precision: found \"" + name + "\", but " +
                                         device_name() + " does not compute in it");
  }
  settings.insert(ov::hint::inference_precision(precision->type));
  if (precision->type == ov::element::Type_t::f32) {
    // Otherwise products with packed weights would round their inputs to eight bits.
    settings.insert(ov::hint::dynamic_quantization_group_size(0));
    settings.insert(ov::hint::kv_cache_precision(ov::element::f32));
  }
}

}  // namespace

Options options_from_record(const std::function<std::string(const char* name)>& value_of) {
  Options options;
  options.inference_precision =
      parse_choice("inference_precision", value_of("inference_precision"), kPrecisionNames);
  options.performance_hint = parse_choice("performance_hint", value_of("performance_hint"), kHints);
  options.streams = parse_count("streams", value_of("streams"));
  options.threads = parse_count("threads", value_of("threads"));
  return options;
}

Options options_from_answers(const Document& configs) {
  const Options defaults;
  const auto fallback = [&](std::string_view name) -> std::string {
    if (name == "inference_precision") return defaults.inference_precision;
    if (name == "performance_hint") return defaults.performance_hint;
    return std::string(kAuto);
  };
  return options_from_record([&](const char* name) {
    const std::string key = std::string("interact_info.") + name;
    if (!configs.has(key)) return fallback(name);
    try {
      return configs.text(key);
    } catch (const Error&) {  // a count may come as a number
      return std::to_string(configs.integer(key));
    }
  });
}

std::string count_text(const std::optional<int>& count) {
  return count ? std::to_string(*count) : std::string(kAuto);
}

ov::AnyMap settings_of(const Options& options, int cpus) {
  // Nothing is pinned, and every CPU counts: which ones, the process's affinity says.
  ov::AnyMap settings{ov::inference_num_threads(options.threads.value_or(cpus)),
                      ov::hint::enable_cpu_pinning(false), ov::hint::enable_hyper_threading(true)};
  set_precision(options.inference_precision, settings);
  if (options.performance_hint == "latency") {
    settings.insert(ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY));
  } else if (options.performance_hint == "throughput") {
    settings.insert(ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT));
  }
  if (options.streams) settings.insert(ov::num_streams(*options.streams));
  return settings;
}

int usable_cpu_count() {
  // The kernel refuses a mask smaller than its own, whose size it does not tell.
  constexpr std::size_t kMostCpus = std::size_t{1} << 16;
  for (std::size_t cpus = 1024; cpus <= kMostCpus; cpus *= 2) {
    const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(cpus), free_set);
    const std::size_t size_bytes = CPU_ALLOC_SIZE(cpus);
    if (sched_getaffinity(0, size_bytes, set.get()) == 0) {
      return std::max(1, CPU_COUNT_S(size_bytes, set.get()));
    }
  }
  return 1;
}

}  // namespace openvino
