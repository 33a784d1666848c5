#include "sdk/convert.h"

#include <array>
#include <filesystem>
#include <system_error>

#include "assay/backend.hpp"
#include "sdk/child.h"

namespace graphcore {
namespace fs = std::filesystem;
namespace {

using assay::backend::Error;

// How the tool chain says that a model does not fit.
constexpr std::array<const char*, 4> kOutOfMemory = {
    "graph_memory_allocation_error", "out of memory", "Out of memory", "OutOfMemory"};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t dim : shape) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return text;
}

// The version as the converter names the chips.
std::string target_of(const Options& options) {
  return options.ipu_version == "c600" ? "ipu21" : "ipu2";
}

bool says_out_of_memory(const std::string& text) {
  for (const char* words : kOutOfMemory) {
    if (text.find(words) != std::string::npos) return true;
  }
  return false;
}

[[noreturn]] void fail(std::int32_t code, const std::string& what, const std::string& log) {
  const std::string tail = log_tail(log);
  throw Error(code, "the converter " + what + (tail.empty() ? "" : "; it printed last: " + tail));
}

}  // namespace

std::vector<std::string> converter_arguments(const ConvertRequest& request) {
  const Options& options = request.options;
  std::vector<std::string> words = {request.python,       "-m",
                                    "poprt.cli",          "--input_model",
                                    request.model,        "--export_popef",
                                    "--convert_version",  "11",
                                    "--output_dir",       request.folder,
                                    "--precision",        options.precision,
                                    "--batches_per_step", std::to_string(options.batches_per_step),
                                    "--ipu_version",      target_of(options)};
  if (!request.shapes.empty()) words.emplace_back("--input_shape");
  for (const auto& [name, shape] : request.shapes) words.push_back(name + "=" + shape_text(shape));
  words.emplace_back("--popart_options");
  words.push_back("partialsTypeMatMuls=" +
                  std::string(options.half_partials_matmul() ? "half" : "float"));
  words.push_back("availableMemoryProportion=" +
                  std::to_string(options.available_memory_proportion));
  for (const auto& [name, value] : options.popart) words.push_back(name + "=" + value);
  return words;
}

void convert(const ConvertRequest& request) {
  ChildRequest child;
  child.arguments = converter_arguments(request);
  child.log = request.folder + "/convert.log";
  child.deadline = request.deadline;
  child.goes_on = request.goes_on;
  const ChildEnd end = run_child(child);
  switch (end.why) {
    case ChildEnd::Why::kTimedOut:
      fail(ASSAY_DEADLINE_EXCEEDED,
           "was stopped after " + std::to_string(request.deadline.count()) + " ms", child.log);
    case ChildEnd::Why::kCancelled:
      fail(ASSAY_CANCELLED, "was asked to end", child.log);
    case ChildEnd::Why::kTooMuchLog:
      fail(ASSAY_RESOURCE_EXHAUSTED,
           "printed more than " + std::to_string(child.log_limit_bytes) + " bytes", child.log);
    case ChildEnd::Why::kSignalled:
      fail(ASSAY_UNKNOWN, "died of signal " + std::to_string(end.code), child.log);
    case ChildEnd::Why::kExited:
      break;
  }
  if (end.code != 0) {
    const std::string tail = log_tail(child.log, std::size_t{64} << 10);
    if (says_out_of_memory(tail)) {
      fail(ASSAY_RESOURCE_EXHAUSTED, "says that the model does not fit the chip", child.log);
    }
    const bool missing = tail.find("No module named") != std::string::npos;
    fail(missing ? ASSAY_UNAVAILABLE : ASSAY_UNKNOWN, "ended with code " + std::to_string(end.code),
         child.log);
  }
  std::error_code error;
  if (fs::file_size(fs::path(request.folder) / kExecutable, error) > 0 && !error) return;
  fail(ASSAY_UNKNOWN, std::string("succeeded without writing ") + kExecutable, child.log);
}

}  // namespace graphcore
