#include "controller/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_parse.h"
#include "controller/compile_events.h"
#include "controller/loaded_libraries.h"
#include "controller/typed_object.h"
#include "workload/segment_order.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kProbeTimeout{60};
constexpr std::chrono::seconds kProfileTimeout{60};
constexpr std::chrono::seconds kImportTimeout{600};  // of whole frameworks, from a cold disk

// For a call that may be a worker's first, where a Python backend imports all that it needs.
std::chrono::seconds first_timeout(const host::Manifest& manifest, std::chrono::seconds usual) {
  return manifest.language == host::Language::kPython ? kImportTimeout : usual;
}

Result<std::vector<std::string>> device_names(const TypedObject& probe) {
  std::vector<std::string> names;
  if (!probe.has("devices")) return names;
  ASSIGN_OR_RETURN(const std::vector<TypedObject> devices, probe.list("devices"));
  for (const TypedObject& device : devices) {
    ASSIGN_OR_RETURN(const std::int64_t id, device.integer("id"));
    ASSIGN_OR_RETURN(const std::string name, device.text("name"));
    names.push_back(fmt::format("{}: {}", id, name));
  }
  return names;
}

Status read_probe(const Json& answer, ProbeFacts& facts) {
  const TypedObject members(answer, "the worker's answer to probe");
  ASSIGN_OR_RETURN(facts.version, members.text("version"));
  ASSIGN_OR_RETURN(facts.interface_version, members.text("interface_version"));
  ASSIGN_OR_RETURN(facts.hardware_type, members.text("hardware_type"));
  ASSIGN_OR_RETURN(facts.need_reload, members.flag("need_reload"));
  ASSIGN_OR_RETURN(facts.need_quant, members.flag("need_quant"));
  if (!members.has("probe")) return ok_status();
  ASSIGN_OR_RETURN(const TypedObject probe, members.object("probe"));
  facts.probe = JsonValue(answer["probe"]);
  ASSIGN_OR_RETURN(facts.devices, device_names(probe));
  ASSIGN_OR_RETURN(const bool available, probe.flag("available"));
  if (available) return ok_status();
  ASSIGN_OR_RETURN(const std::string reason, probe.text("reason"));
  return unavailable(reason.empty() ? "the backend says it is not available" : reason);
}

// Whole configs, as the other methods will get them.
Status check_configs(const std::string& configs) {
  ASSIGN_OR_RETURN(const Json returned, parse_json(configs));
  const TypedObject members(returned, "the configs");
  for (const char* part : {"workload", "model_info", "interact_info"}) {
    RETURN_IF_ERROR(members.object(part).status());
  }
  return ok_status();
}

Status make_empty_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) fs::create_directories(folder, error);
  return error ? errno_status(error.value(), "cannot make " + quoted(folder)) : ok_status();
}

Status compile_in(Session& session, const host::Manifest& manifest, const CompileRequest& request,
                  RunObserver& observer, Compiled& compiled) {
  ASSIGN_OR_RETURN(const Json best, session.call("best_batch_size", Json::object(),
                                                 first_timeout(manifest, kProfileTimeout)));
  if (const TypedObject members(best, "the worker's answer to best_batch_size");
      members.has("batch_sizes")) {
    ASSIGN_OR_RETURN(compiled.best_batch_sizes, members.integers("batch_sizes"));
  }
  CompileEvents events(request.calibration, observer);
  ASSIGN_OR_RETURN(const Json answer,
                   events.call(session, "compile",
                               Json{{"configs", request.configs},
                                    {"artifact_folder", absolute_text(request.artifact_folder)}},
                               request.calibration_disjoint, std::nullopt));
  const TypedObject members(answer, "the worker's answer to compile");
  ASSIGN_OR_RETURN(compiled.compile_result, members.text("result"));
  ASSIGN_OR_RETURN(compiled.wall_ns, members.integer("wall_ns"));
  compiled.calibration_samples = events.samples_read();
  return ok_status();
}

// Several segments have to be a graph that leads from the model's inputs to its outputs. That a
// Python backend, which runs them itself, does as declared is its own word, and the report says so.
Status check_segments(const host::Manifest& manifest, const CompileRequest& request,
                      workload::CompileResult& compiled) {
  if (compiled.segments.size() < 2) return ok_status();
  const Json configs = Json::parse(request.configs, nullptr, /*allow_exceptions=*/false);
  const Json info = configs.is_object() ? configs.value("model_info", Json()) : Json();
  RETURN_IF_ERROR(workload::order_segments(compiled.segments, workload::model_ends(info)).status());
  if (manifest.language != host::Language::kPython) return ok_status();
  const auto fallbacks =
      std::ranges::count(compiled.segments, true, &workload::Segment::is_fallback);
  compiled.warnings.push_back(fmt::format(
      "The model was compiled in {} segments, {} of them a fallback. The backend runs them itself: "
      "the share of the graph on the device is its own word, nothing here has seen it.",
      compiled.segments.size(), fallbacks));
  return ok_status();
}

Status check_compiled(const host::Manifest& manifest, const CompileRequest& request,
                      Compiled& compiled) {
  const Result<Json> returned = parse_json(compiled.compile_result);
  if (!returned.ok()) return returned.status().with_context("compile returned");
  ASSIGN_OR_RETURN(compiled.parsed,
                   workload::compile_result_from_backend(*returned, manifest.hardware_type));
  compiled.compile_result = compiled.parsed.document.dump();
  if (!compiled.parsed.succeeded()) {
    return {StatusCode::kFailedPrecondition,
            fmt::format("the backend says compile_status \"{}\"", compiled.parsed.compile_status)};
  }
  RETURN_IF_ERROR(check_segments(manifest, request, compiled.parsed)
                      .with_context("compile result of backend " + manifest.hardware_type));
  compiled.artifact_folder = request.artifact_folder;
  ASSIGN_OR_RETURN(compiled.files, list_artifact(request.artifact_folder));
  compiled.artifact_hash = hash_of(compiled.files);
  return ok_status();
}

}  // namespace

PhaseRecord run_in_session(const SessionSettings& settings, const host::Manifest& manifest,
                           const std::string& phase, const std::function<Status(Session&)>& work) {
  PhaseRecord record;
  record.name = phase;
  const std::int64_t start_ns = now_ns();
  Result<Session> session = Session::start(settings, manifest, phase, record.end);
  if (session.ok()) {
    record.end = session->finish(guard_json([&] { return work(*session); }));
    record.peak_rss_bytes = session->peak_rss_bytes();
  }
  record.wall_ns = now_ns() - start_ns;
  return record;
}

PhaseResult<ProbeFacts> probe_backend(const SessionSettings& settings,
                                      const host::Manifest& manifest, Status& open_error) {
  PhaseResult<ProbeFacts> result;
  result.record.name = "probe";
  const std::int64_t start_ns = now_ns();
  Result<Session> session = Session::start(settings, manifest, "probe", result.record.end);
  if (!session.ok()) {
    // A library that crashes while it is opened is a failed phase; one that is refused is bad
    // input.
    if (result.record.end.outcome == worker::Outcome::kFailed) open_error = session.status();
    result.record.wall_ns = now_ns() - start_ns;
    return result;
  }
  ProbeFacts facts;
  const Result<Json> answer =
      session->call("probe", Json::object(), first_timeout(manifest, kProbeTimeout));
  facts.runtime_libraries = loaded_libraries(session->client().pid());
  const Status status = answer.ok() ? read_probe(*answer, facts) : answer.status();
  result.record.end = session->finish(status);
  result.record.peak_rss_bytes = session->peak_rss_bytes();
  result.record.wall_ns = now_ns() - start_ns;
  if (status.ok()) result.value = std::move(facts);
  return result;
}

PhaseResult<std::string> ask_profile(const SessionSettings& settings,
                                     const host::Manifest& manifest, const std::string& configs) {
  PhaseResult<std::string> result;
  result.record = run_in_session(settings, manifest, "profile", [&](Session& session) -> Status {
    ASSIGN_OR_RETURN(const Json answer, session.call("interact_profile", Json{{"configs", configs}},
                                                     first_timeout(manifest, kProfileTimeout)));
    const TypedObject members(answer, "the worker's answer to interact_profile");
    ASSIGN_OR_RETURN(result.value, members.text("profile"));
    return ok_status();
  });
  return result;
}

Result<workload::InteractProfile> read_profile(const std::string& asked,
                                               const host::Manifest& manifest) {
  if (!asked.empty()) {
    const Result<Json> returned = parse_json(asked);
    if (!returned.ok()) return returned.status().with_context("get_interact_profile returned");
    Result<workload::InteractProfile> profile =
        workload::interact_profile_from_backend(*returned, manifest.hardware_type);
    return profile.ok() ? std::move(profile)
                        : profile.status().with_context("get_interact_profile returned");
  }
  if (manifest.profile.empty()) return workload::InteractProfile();
  return workload::load_interact_profile(manifest.profile_path());
}

PhaseResult<PreOptimized> pre_optimize(const SessionSettings& settings,
                                       const host::Manifest& manifest, const std::string& configs,
                                       const fs::path& folder) {
  PhaseResult<PreOptimized> result;
  result.record =
      run_in_session(settings, manifest, "pre_optimize", [&](Session& session) -> Status {
        ASSIGN_OR_RETURN(result.value, pre_optimize_in_session(session, configs, folder));
        return ok_status();
      });
  return result;
}

Result<PreOptimized> pre_optimize_in_session(Session& session, const std::string& configs,
                                             const fs::path& folder) {
  RETURN_IF_ERROR(make_empty_folder(folder));
  ASSIGN_OR_RETURN(const Json answer,
                   session.call_unbounded("pre_optimize", Json{{"configs", configs},
                                                               {"folder", absolute_text(folder)}}));
  PreOptimized changed;
  const TypedObject members(answer, "the worker's answer to pre_optimize");
  if (members.has("configs")) {
    ASSIGN_OR_RETURN(changed.configs, members.text("configs"));
    RETURN_IF_ERROR(check_configs(*changed.configs).with_context("pre_optimize returned"));
  }
  return changed;
}

PhaseResult<Compiled> compile_model(const SessionSettings& settings, const host::Manifest& manifest,
                                    const CompileRequest& request, RunObserver& observer) {
  PhaseResult<Compiled> result;
  result.record = run_in_session(settings, manifest, "compile", [&](Session& session) -> Status {
    session.set_tick([&observer] { observer.progress(0, 0, ""); });
    Compiled compiled;
    RETURN_IF_ERROR(compile_in_session(session, manifest, request, observer, compiled));
    result.value = std::move(compiled);
    return ok_status();
  });
  return result;
}

Status compile_in_session(Session& session, const host::Manifest& manifest,
                          const CompileRequest& request, RunObserver& observer,
                          Compiled& compiled) {
  RETURN_IF_ERROR(make_empty_folder(request.artifact_folder));
  RETURN_IF_ERROR(compile_in(session, manifest, request, observer, compiled));
  return check_compiled(manifest, request, compiled);
}

bool Compiled::lives_in_process() const {
  return parsed.document->is_object() && parsed.document->value("live", Json()) == true;
}

std::string declared_execution(const Json& compile_result) {
  const TypedObject document(compile_result, "the compile result");
  if (const Result<std::string> text = document.text("executed_precision"); text.ok()) return *text;
  const Result<TypedObject> executed = document.object("executed_precision");
  const Result<std::string> summary =
      executed.ok() ? executed->text("summary") : Result<std::string>(executed.status());
  return summary.ok() ? *summary : "";
}

std::string declared_runtime(const Json& compile_result) {
  const Result<std::string> runtime =
      TypedObject(compile_result, "the compile result").text("runtime");
  return runtime.ok() ? *runtime : "";
}

std::string declared_precision(const workload::CompileResult& compiled) {
  const std::string executed = declared_execution(compiled.document.get());
  return executed.empty() ? compiled.compile_precision : executed;
}

Result<std::vector<ArtifactFile>> list_artifact(const fs::path& folder) {
  std::vector<ArtifactFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    ArtifactFile file;
    file.path = it->path().lexically_relative(folder).string();
    file.size_bytes = it->file_size(error);
    ASSIGN_OR_RETURN(file.sha256, sha256_of_file(it->path()));
    files.push_back(std::move(file));
  }
  if (error) return errno_status(error.value(), "cannot list " + quoted(folder));
  std::sort(files.begin(), files.end(),
            [](const ArtifactFile& a, const ArtifactFile& b) { return a.path < b.path; });
  return files;
}

std::string hash_of(const std::vector<ArtifactFile>& files) {
  Sha256 hash;
  for (const ArtifactFile& file : files) {
    hash.update(fmt::format("{}:{}:{}\n", file.path.size(), file.path, file.sha256));
  }
  return hash.hex_digest();
}

}  // namespace assay::controller
