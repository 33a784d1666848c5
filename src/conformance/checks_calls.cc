// Checks of calls and their tensors.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "conformance/checks.h"

namespace assay::conformance {
namespace fs = std::filesystem;
namespace {

using Make = Result<Model> (*)(const fs::path& folder, std::int64_t argument);

// Compiles and runs, in one worker, a model that is made for this check alone.
CheckResult run_model(Bench& bench, const std::function<Result<Model>(const fs::path&)>& make,
                      const char* drill_name = "answers_right", const Json& more = Json::object()) {
  return bench.in_worker([&](controller::Session& session) -> Result<CheckResult> {
    ASSIGN_OR_RETURN(const fs::path place, bench.folder("model"));
    ASSIGN_OR_RETURN(const fs::path artifact, bench.folder("artifact"));
    ASSIGN_OR_RETURN(const Model model, make(place));
    ASSIGN_OR_RETURN(const CompiledModel compiled, bench.compile(session, model, artifact));
    Json arguments = more;
    arguments["job"] = to_json(compiled.job);
    ASSIGN_OR_RETURN(const drill::Finding finding, call_drill(session, drill_name, arguments));
    return result_of(finding);
  });
}

std::int64_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  constexpr std::string_view kKey = "MemAvailable:";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kKey)) return 1024 * std::stoll(line.substr(kKey.size()));
  }
  return 0;
}

}  // namespace

CheckResult check_answers(Bench& bench, std::int64_t /*argument*/) {
  return bench.model_drill("answers_right");
}

CheckResult check_dtype(Bench& bench, std::int64_t argument) {
  const auto dtype = static_cast<DType>(argument);
  if (!bench.support().takes_dtype(dtype)) {
    return not_supported(fmt::format("the manifest's dtypes has no {}", name_of(dtype)));
  }
  if (!bench.takes_onnx()) return not_supported(kNoOnnx);
  return run_model(bench, [&](const fs::path& place) { return identity_model(place, dtype); });
}

CheckResult check_rank(Bench& bench, std::int64_t rank) {
  if (!bench.support().takes_rank(rank)) {
    return not_supported(fmt::format("the manifest's ranks has no {}", rank));
  }
  if (!bench.takes_onnx()) return not_supported(kNoOnnx);
  const bool flat = bench.support().takes_rank(1);
  return run_model(bench, [&](const fs::path& place) { return rank_model(place, rank, flat); });
}

CheckResult check_batch(Bench& bench, std::int64_t /*argument*/) {
  if (!bench.support().dynamic_batch) {
    return not_supported("the manifest declares \"dynamic_batch\": false");
  }
  const CompiledModel& compiled = *bench.compiled();
  constexpr std::array<std::int64_t, 4> kSizes = {1, 2, 3, 7};
  return bench.in_worker([&](controller::Session& session) -> Result<CheckResult> {
    std::int64_t checked = 0;
    for (const std::int64_t size : kSizes) {
      if (compiled.max_batch_size && size > *compiled.max_batch_size) break;
      Json job = to_json(compiled.job);
      job["batch_size"] = size;
      ASSIGN_OR_RETURN(const drill::Finding finding,
                       call_drill(session, "answers_right", Json{{"job", std::move(job)}}));
      if (!finding.violation.empty()) {
        return failed(fmt::format("at batch size {}: {}", size, finding.violation));
      }
      ++checked;
    }
    return passed(fmt::format("{} batch sizes", checked));
  });
}

CheckResult check_batch_above_maximum(Bench& bench, std::int64_t /*argument*/) {
  const std::optional<std::int64_t> maximum = bench.compiled()->max_batch_size;
  if (!maximum) return passed("max_batch_size is not stated: any batch size may be loaded");
  return bench.model_drill("batch_above_maximum", Json{{"maximum", *maximum}});
}

CheckResult check_empty(Bench& bench, std::int64_t /*argument*/) {
  if (!bench.support().empty_tensors) {
    return not_supported("the manifest declares \"empty_tensors\": false");
  }
  if (!bench.takes_onnx()) return not_supported(kNoOnnx);
  return run_model(bench, [](const fs::path& place) { return empty_model(place); });
}

CheckResult check_big(Bench& bench, std::int64_t /*argument*/) {
  if (!bench.takes_onnx()) return not_supported(kNoOnnx);
  if (!bench.support().takes_dtype(DType::kFloat32)) {
    return not_supported("the manifest's dtypes has no FLOAT32");
  }
  constexpr std::int64_t kMegabyte = std::int64_t{1} << 20;
  // Input and output together. The backend may need the same again, and so does the drill.
  std::int64_t total_bytes = (bench.quick() ? 64 : 256) * kMegabyte;
  while (total_bytes > kMegabyte && 6 * total_bytes > available_memory_bytes()) total_bytes /= 2;
  const auto elements = static_cast<std::int64_t>(total_bytes / 2 / 4);
  CheckResult result = run_model(
      bench, [&](const fs::path& place) { return big_model(place, elements); }, "big_tensors",
      Json{{"elements", elements}});
  if (result.outcome == Outcome::kPassed) {
    result.detail = fmt::format("{} MiB in and out", total_bytes / kMegabyte);
  }
  return result;
}

CheckResult check_wrong_inputs(Bench& bench, std::int64_t /*argument*/) {
  return bench.model_drill("wrong_inputs_refused");
}

CheckResult check_inputs_kept(Bench& bench, std::int64_t /*argument*/) {
  return bench.model_drill("inputs_kept");
}

CheckResult check_outputs_written(Bench& bench, std::int64_t /*argument*/) {
  return bench.model_drill("outputs_written");
}

CheckResult check_repeat(Bench& bench, std::int64_t /*argument*/) {
  const int calls = bench.quick() ? 100 : 1000;
  CheckResult result = bench.model_drill("answers_repeat", Json{{"calls", calls}});
  if (result.outcome == Outcome::kPassed) result.detail = fmt::format("{} calls", calls);
  return result;
}

}  // namespace assay::conformance
