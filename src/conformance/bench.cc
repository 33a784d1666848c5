#include "conformance/bench.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/utf8.h"
#include "controller/steps.h"

namespace assay::conformance {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLongestLog = std::size_t{64} << 20;

// What a sanitizer that the worker is built with has to say, "" without anything.
std::string sanitizer_report(const fs::path& log) {
  const Result<std::string> text = read_file(log, kLongestLog);
  if (!text.ok()) return {};
  for (const char* const mark :
       {"WARNING: ThreadSanitizer", "ERROR: AddressSanitizer", "ERROR: LeakSanitizer"}) {
    const std::size_t at = text->find(mark);
    if (at == std::string::npos) continue;
    return valid_utf8(text->substr(at, text->find('\n', at) - at));
  }
  return {};
}

std::string described(const worker::PhaseEnd& end) {
  if (end.outcome == worker::Outcome::kFailed) return end.reason;
  return fmt::format("{}: {}", worker::name_of(end.outcome), end.reason);
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kNotSupported:
      return "not_supported";
    case Outcome::kSkipped:
      return "skipped";
  }
  return "";
}

Bench::Bench(BenchSettings settings, Result<host::Manifest> manifest)
    : settings_(std::move(settings)), manifest_(std::move(manifest)) {
  if (!manifest_.ok()) return;
  Result<host::Support> declared = host::read_support(manifest_->folder);
  // A file that read_manifest took and this does not was changed meanwhile.
  if (declared.ok()) {
    support_ = *std::move(declared);
  } else {
    manifest_ = declared.status();
  }
}
Bench::~Bench() = default;

bool Bench::interrupted() const {
  return settings_.session.stop != nullptr && settings_.session.stop->load();
}

void Bench::begin(const std::string& check) {
  check_ = check;
  workers_ = 0;
}

Result<fs::path> Bench::folder(const std::string& name) {
  const fs::path made =
      settings_.scratch / "work" / fmt::format("{}-{}", check_, ++folders_) / name;
  std::error_code error;
  fs::create_directories(made, error);
  if (error) return errno_status(error.value(), "cannot make " + quoted(made));
  return made;
}

controller::SessionSettings Bench::session_settings() const {
  controller::SessionSettings chosen = settings_.session;
  chosen.log_folder = settings_.scratch / "logs";
  std::error_code ignored;  // a log that cannot be made is the worker's start's to report
  fs::create_directories(chosen.log_folder, ignored);
  return chosen;
}

std::string Bench::log_name() {
  ++workers_;
  return workers_ == 1 ? check_ : fmt::format("{}-{}", check_, workers_);
}

CheckResult Bench::judged(const worker::PhaseEnd& end, CheckResult result,
                          const fs::path& log) const {
  if (interrupted()) return skipped("interrupted");
  if (const std::string report = sanitizer_report(log); !report.empty()) return failed(report);
  if (end.ok() || result.outcome == Outcome::kFailed) return result;
  return failed(described(end), result.facts);
}

CheckResult Bench::in_worker(const Work& work,
                             const std::map<std::string, std::string>& environment) {
  host::Manifest adapted = manifest();
  for (const auto& [name, value] : environment) adapted.environment[name] = value;
  const controller::SessionSettings chosen = session_settings();
  const std::string name = log_name();
  CheckResult result;
  const controller::PhaseRecord record = controller::run_in_session(
      chosen, adapted, name, [&](controller::Session& session) -> Status {
        ASSIGN_OR_RETURN(result, work(session));
        return ok_status();
      });
  return judged(record.end, std::move(result), chosen.log_folder / (name + ".log"));
}

CheckResult Bench::in_fresh_worker(
    const std::function<Result<CheckResult>(worker::Client&)>& work) {
  const controller::SessionSettings chosen = session_settings();
  const fs::path log = chosen.log_folder / (log_name() + ".log");
  worker::PhaseEnd end;
  Result<worker::Client> client =
      worker::Client::start({.program = chosen.worker_program,
                             .log = log,
                             .environment = manifest().environment,
                             .memory_limit_bytes = chosen.memory_limit_bytes,
                             .stop = chosen.stop},
                            end);
  if (!client.ok()) return judged(end, {}, log);
  Result<CheckResult> result = work(*client);
  end = client->finish(result.status());
  return judged(end, result.ok() ? *std::move(result) : CheckResult(), log);
}

const Json& Bench::answers() {
  if (answers_) return answers_->get();
  answers_.emplace(Json::object());
  const Json asked_with = {{"workload", Json::object()}, {"model_info", Json::object()}};
  const auto asked = controller::ask_profile(session_settings(), manifest(), asked_with.dump());
  // What is wrong with a profile is its own check's to say.
  if (!asked.value) return answers_->get();
  const auto profile = controller::read_profile(*asked.value, manifest());
  if (!profile.ok()) return answers_->get();
  const auto resolved = workload::resolve_answers(*profile, {settings_.set_options, {}, nullptr});
  if (resolved.ok()) answers_ = JsonValue(workload::interact_info(*resolved));
  return answers_->get();
}

std::string Bench::configs(const Model& model) {
  const Json info = model.info.is_null() ? Json::object() : *model.info;
  return Json{{"workload", {{"model", info.value("model", "")}, {"batch_sizes", {1}}}},
              {"model_info", info},
              {"interact_info", answers()}}
      .dump();
}

Result<Model> Bench::make_model() {
  const auto& formats = support().model_formats;
  if (!settings_.model.empty()) {
    const std::string extension = settings_.model.extension().string();
    return foreign_model(settings_.model, extension.empty() ? "saved_model" : extension.substr(1));
  }
  if (takes_onnx()) {
    ASSIGN_OR_RETURN(const fs::path place, folder("model"));
    return linear_model(place, !support().dynamic_batch);
  }
  if (formats && formats->empty()) return no_model();
  return failed_precondition(
      "the suite makes ONNX models, and this backend takes none: name one with --model FILE");
}

const Result<Model>& Bench::model() {
  if (!model_) model_ = make_model();
  return *model_;
}

Result<CompiledModel> Bench::compile(controller::Session& session, const Model& model,
                                     const fs::path& artifact) {
  controller::RunObserver nobody;
  controller::Compiled compiled;
  CompiledModel made;
  made.job.load.configs = configs(model);
  RETURN_IF_ERROR(controller::compile_in_session(
      session, manifest(), {made.job.load.configs, artifact, nullptr, false}, nobody, compiled));
  if (compiled.parsed.segments.size() > 1) {
    return failed_precondition(fmt::format(
        "a model of the suite was compiled in {} segments; only the check \"segments\" runs those",
        compiled.parsed.segments.size()));
  }
  made.job.load.compile_result = compiled.compile_result;
  made.job.load.artifact_folder = artifact;
  made.job.batched = model.batched;
  made.max_batch_size = compiled.parsed.max_batch_size;
  for (const drill::Case& one : model.cases) {
    ASSIGN_OR_RETURN(drill::Case copy, drill::copy_of(one));
    made.job.cases.push_back(std::move(copy));
  }
  return made;
}

Result<CompiledModel> Bench::compile_everyday() {
  if (!model().ok()) return model().status();
  ASSIGN_OR_RETURN(const fs::path artifact, folder("artifact"));
  std::optional<Result<CompiledModel>> made;
  const CheckResult result = in_worker([&](controller::Session& session) -> Result<CheckResult> {
    made = compile(session, *model(), artifact);
    RETURN_IF_ERROR(made->status());
    return passed();
  });
  if (result.outcome != Outcome::kPassed) return failed_precondition(result.detail);
  return *std::move(made);
}

const Result<CompiledModel>& Bench::compiled() {
  if (!compiled_) compiled_ = compile_everyday();
  return *compiled_;
}

CheckResult Bench::drill(const std::string& name) { return drill(name, Json::object()); }

CheckResult Bench::drill(const std::string& name, const Json& arguments) {
  return in_worker([&](controller::Session& session) -> Result<CheckResult> {
    ASSIGN_OR_RETURN(const drill::Finding finding, call_drill(session, name, arguments));
    return result_of(finding);
  });
}

CheckResult Bench::model_drill(const std::string& name) {
  return model_drill(name, Json::object());
}

CheckResult Bench::model_drill(const std::string& name, const Json& arguments) {
  Json complete = arguments;
  complete["job"] = drill::to_json(compiled()->job);
  return drill(name, complete);
}

Result<drill::Finding> call_drill(controller::Session& session, const std::string& name,
                                  const Json& arguments) {
  ASSIGN_OR_RETURN(
      const Json answer,
      session.call("drill", Json{{"name", name}, {"arguments", arguments}}, kDrillTimeout));
  return drill::Finding{answer.value("violation", ""), answer.value("facts", Json())};
}

CheckResult result_of(const drill::Finding& finding) {
  return finding.violation.empty() ? passed({}, finding.facts)
                                   : failed(finding.violation, finding.facts);
}

}  // namespace assay::conformance
