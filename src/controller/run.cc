#include "controller/run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "controller/evaluation_run.h"
#include "controller/run_folders.h"
#include "controller/set_up.h"
#include "controller/utf8.h"
#include "report/html.h"
#include "report/json.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

int exit_code_of(const Json& result, bool strict) {
  if (result.value("interrupted", false)) return kExitInterrupted;
  for (const Json& phase : result["phases"]) {
    const std::string outcome = phase.value("outcome", "");
    if (outcome != "ok" && outcome != "skipped") return kExitPhaseFailed;
  }
  const std::string verdict = result.value("verdict", "");
  if (verdict == "fail") return kExitNotMet;
  if (verdict == "inconclusive") return strict ? kExitNotMet : kExitMet;
  return kExitMet;
}

// Writes both reports. One that cannot be written does not lose the other, nor what was found: the
// summary says what is missing, and the exit code is that of an error of ours.
RunSummary write_reports(Json result, int exit_code, const fs::path& folder) {
  make_utf8(result);
  result["exit_code"] = exit_code;
  report::add_legacy_keys(result);
  RunSummary summary;
  summary.exit_code = exit_code;
  const auto note = [&](const char* what, const Status& status, fs::path& path) {
    if (status.ok()) return;
    path.clear();
    summary.exit_code = kExitInternal;
    result["exit_code"] = summary.exit_code;
    result["warnings"].push_back(
        fmt::format("internal: {} was not written: {}", what, status.to_string()));
    make_utf8(result["warnings"]);
  };
  summary.result_path = folder / "result.json";
  note("result.json", report::write_result(summary.result_path, result), summary.result_path);
  summary.report_path = folder / "report.html";
  note("report.html", write_file_atomic(summary.report_path, report::render_html(result)),
       summary.report_path);
  summary.result = JsonValue(result);
  return summary;
}

}  // namespace

Result<RunSummary> run(const workload::RunRequest& request, const RunEnvironment& environment) {
  const std::int64_t start_ns = now_ns();
  const UtcTime started = utc_now();
  const FolderGuard guard(request.output);
  ASSIGN_OR_RETURN(Setup setup, set_up(request, environment));
  const std::string command = workload::command_line(setup.plan.request);
  EvaluationRun evaluation(std::move(setup), environment);
  if (const Status prepared = evaluation.prepare(); !prepared.ok()) {
    evaluation.discard();
    return prepared;
  }
  const Status executed = evaluation.execute();
  Json result = evaluation.result(now_ns() - start_ns, started.text);
  const int exit_code =
      executed.ok() ? exit_code_of(result, request.strict) : static_cast<int>(kExitInternal);
  if (!executed.ok()) result["warnings"].push_back("internal: " + executed.to_string());
  if (result.value("interrupted", false)) {
    result["notes"].push_back(
        fmt::format("To go on: {} --resume --output {}", command, quoted(request.output)));
  }
  return write_reports(std::move(result), exit_code, request.output);
}

}  // namespace assay::controller
