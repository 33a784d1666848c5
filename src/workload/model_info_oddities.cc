#include "workload/model_info_oddities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

namespace assay::workload {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void warn(const JsonFile& file, std::string_view pointer, std::string message, ModelInfo& info) {
  info.warnings.push_back(to_string(file.problem(pointer, std::move(message))));
}

// A name that ends in one precision over a file that declares another.
void note_other_precision(const JsonFile& file, ModelInfo& info) {
  const std::string name = "-" + lower(info.name) + "-";
  const std::string declared = lower(info.model_precision);
  for (const std::string_view precision : {"fp32", "fp16", "bf16", "fp8", "int8", "int16"}) {
    if (declared.empty() || declared == precision) continue;
    if (name.find(fmt::format("-{}-", precision)) == std::string::npos) continue;
    warn(file, "/model_precision",
         fmt::format("found \"{}\", but the name \"{}\" says {}", info.model_precision, info.name,
                     precision),
         info);
  }
}

void note_floating_ids(const JsonFile& file, ModelInfo& info) {
  for (const TensorSpec& input : info.inputs) {
    const bool ids = lower(input.name).find("input_ids") != std::string::npos;
    if (!ids || !is_floating(input.dtype)) continue;
    warn(file, "/input_type",
         fmt::format("found {} for \"{}\", which looks like token ids: whole numbers",
                     name_of(input.dtype), input.name),
         info);
  }
}

}  // namespace

void note_oddities(const JsonFile& file, ModelInfo& info) {
  note_other_precision(file, info);
  note_floating_ids(file, info);
}

}  // namespace assay::workload
