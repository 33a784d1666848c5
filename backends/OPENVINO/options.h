#pragma once

// What the user may choose (OPENVINO.json), and OpenVINO's own settings for it.

#include <functional>
#include <openvino/core/any.hpp>
#include <optional>
#include <string>

#include "assay/backend.hpp"

namespace openvino {

struct Options {
  std::string inference_precision = "fp32";  // fp32, bf16, fp16, default
  std::string performance_hint = "latency";  // latency, throughput, none
  std::optional<int> streams;                // none: as the hint has it
  std::optional<int> threads;                // none: one per usable CPU
};

// The answers in configs.interact_info. Throws ASSAY_INVALID_ARGUMENT naming what is accepted.
Options options_from_answers(const assay::backend::Document& configs);

// The same from names and values of an artifact's record.
Options options_from_record(const std::function<std::string(const char* name)>& value_of);

// "auto", or the number.
std::string count_text(const std::optional<int>& count);

// Settings for compiling and for importing, the same for both: an import goes by its own settings,
// not by those of the export. `cpus` is how many this process may use. Throws ASSAY_UNIMPLEMENTED
// when the processor has no such precision.
ov::AnyMap settings_of(const Options& options, int cpus);

// CPUs that this process may run on, at least 1: its affinity mask, not what the machine has.
int usable_cpu_count();

}  // namespace openvino
