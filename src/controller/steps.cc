#include "controller/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "controller/inference_pass.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kProbeTimeout{60};
constexpr std::chrono::seconds kProfileTimeout{60};

std::vector<std::string> device_names(const Json& probe) {
  std::vector<std::string> names;
  if (!probe.is_object()) return names;
  for (const Json& device : probe.value("devices", Json::array())) {
    names.push_back(fmt::format("{}: {}", device.value("id", 0), device.value("name", "")));
  }
  return names;
}

Status read_probe(const Json& answer, ProbeFacts& facts) {
  try {
    facts.version = answer.at("version").get<std::string>();
    facts.interface_version = answer.at("interface_version").get<std::string>();
    facts.hardware_type = answer.at("hardware_type").get<std::string>();
    facts.need_reload = answer.at("need_reload").get<bool>();
    facts.need_quant = answer.at("need_quant").get<bool>();
    facts.probe = JsonValue(answer.at("probe"));
  } catch (const Json::exception& error) {
    return data_loss(fmt::format("the worker's answer to probe: {}", error.what()));
  }
  facts.devices = device_names(*facts.probe);
  if (facts.probe->is_object() && !facts.probe->value("available", true)) {
    return unavailable(facts.probe->value("reason", "the backend says it is not available"));
  }
  return ok_status();
}

Status make_empty_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) fs::create_directories(folder, error);
  return error ? errno_status(error.value(), "cannot make " + quoted(folder)) : ok_status();
}

// Serves calibration samples into one shared slot, one at a time, as the worker asks.
class CalibrationFeed {
 public:
  explicit CalibrationFeed(const dataset::Dataset& dataset) : dataset_(&dataset) {
    layout_.inputs.assign(dataset.specs().begin(), dataset.specs().end());
    layout_.input_slots = 1;
  }

  Status open() {
    ASSIGN_OR_RETURN(const std::size_t bytes, worker::input_slot_bytes(layout_.inputs));
    ASSIGN_OR_RETURN(memory_, worker::SharedMemory::create(bytes));
    return ok_status();
  }

  Json description(bool disjoint) const {
    return Json{{"count", dataset_->size()},
                {"disjoint", disjoint},
                {"bytes", memory_.bytes().size()},
                {"inputs", worker::to_json(layout_.inputs)}};
  }
  int fd() const { return memory_.fd(); }

  Json on_event(const Json& event) {
    if (event.value("event", "") != "calibration") return Json::object();
    const std::vector<dataset::BatchBuffers> buffers = slot_buffers(layout_, memory_.bytes());
    const Status status = dataset_->read(event.value("index", std::size_t{0}), buffers.front());
    return status.ok() ? Json::object() : Json{{"error", status.to_string()}};
  }

 private:
  const dataset::Dataset* dataset_;
  worker::ArenaLayout layout_;
  worker::SharedMemory memory_;
};

Status compile_in(Session& session, const CompileRequest& request, Compiled& compiled) {
  ASSIGN_OR_RETURN(const Json best,
                   session.call("best_batch_size", Json::object(), kProfileTimeout));
  if (best.contains("batch_sizes") && best["batch_sizes"].is_array()) {
    compiled.best_batch_sizes = best["batch_sizes"].get<std::vector<std::int64_t>>();
  }
  Json arguments{{"configs", request.configs},
                 {"artifact_folder", request.artifact_folder.string()}};
  std::optional<CalibrationFeed> feed;
  if (request.calibration != nullptr) {
    feed.emplace(*request.calibration);
    RETURN_IF_ERROR(feed->open());
    arguments["calibration"] = feed->description(request.calibration_disjoint);
    session.client().set_on_event([&feed](const Json& event) { return feed->on_event(event); });
  }
  const Result<Json> answer =
      session.call_unbounded("compile", std::move(arguments), feed ? feed->fd() : -1);
  session.client().set_on_event(nullptr);
  if (!answer.ok()) return answer.status();
  compiled.compile_result = answer->value("result", "");
  compiled.wall_ns = answer->value("wall_ns", std::int64_t{0});
  return ok_status();
}

Status check_compiled(const host::Manifest& manifest, const CompileRequest& request,
                      Compiled& compiled) {
  const Json returned = Json::parse(compiled.compile_result, nullptr, /*allow_exceptions=*/false);
  if (returned.is_discarded()) return internal_error("the compile result is not JSON");
  ASSIGN_OR_RETURN(compiled.parsed,
                   workload::compile_result_from_backend(returned, manifest.hardware_type));
  compiled.compile_result = compiled.parsed.document.dump();
  if (!compiled.parsed.succeeded()) {
    return {StatusCode::kFailedPrecondition,
            fmt::format("the backend says compile_status \"{}\"", compiled.parsed.compile_status)};
  }
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
    record.end = session->finish(work(*session));
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
  const Result<Json> answer = session->call("probe", Json::object(), kProbeTimeout);
  const Status status = answer.ok() ? read_probe(*answer, facts) : answer.status();
  result.record.end = session->finish(status);
  result.record.peak_rss_bytes = session->peak_rss_bytes();
  result.record.wall_ns = now_ns() - start_ns;
  if (result.record.end.ok()) result.value = std::move(facts);
  return result;
}

PhaseResult<std::string> ask_profile(const SessionSettings& settings,
                                     const host::Manifest& manifest, const std::string& configs) {
  PhaseResult<std::string> result;
  std::string profile;
  result.record = run_in_session(settings, manifest, "profile", [&](Session& session) -> Status {
    ASSIGN_OR_RETURN(const Json answer,
                     session.call("interact_profile", Json{{"configs", configs}}, kProfileTimeout));
    profile = answer.value("profile", "");
    return ok_status();
  });
  if (result.record.end.ok()) result.value = std::move(profile);
  return result;
}

PhaseResult<PreOptimized> pre_optimize(const SessionSettings& settings,
                                       const host::Manifest& manifest, const std::string& configs,
                                       const fs::path& folder) {
  PhaseResult<PreOptimized> result;
  PreOptimized changed;
  result.record =
      run_in_session(settings, manifest, "pre_optimize", [&](Session& session) -> Status {
        RETURN_IF_ERROR(make_empty_folder(folder));
        ASSIGN_OR_RETURN(const Json answer,
                         session.call_unbounded("pre_optimize", Json{{"configs", configs},
                                                                     {"folder", folder.string()}}));
        if (answer.contains("configs") && answer["configs"].is_string()) {
          changed.configs = answer["configs"].get<std::string>();
        }
        return ok_status();
      });
  if (result.record.end.ok()) result.value = std::move(changed);
  return result;
}

PhaseResult<Compiled> compile_model(const SessionSettings& settings, const host::Manifest& manifest,
                                    const CompileRequest& request, RunObserver& observer) {
  PhaseResult<Compiled> result;
  Compiled compiled;
  result.record = run_in_session(settings, manifest, "compile", [&](Session& session) -> Status {
    session.set_tick([&observer] { observer.progress(0, 0, ""); });
    RETURN_IF_ERROR(make_empty_folder(request.artifact_folder));
    RETURN_IF_ERROR(compile_in(session, request, compiled));
    return check_compiled(manifest, request, compiled);
  });
  if (result.record.end.ok()) result.value = std::move(compiled);
  return result;
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
