#include "controller/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "controller/kept_worker.h"
#include "controller/typed_object.h"

namespace assay::controller {
namespace {

constexpr std::chrono::seconds kOpenTimeout{60};
constexpr std::chrono::seconds kLoadTimeout{600};
constexpr std::chrono::seconds kShareTimeout{60};

// A folder of the run's own: what a backend writes without saying where does not land in the
// user's folder, and goes with the run.
void give_scratch(const SessionSettings& settings, worker::ClientSettings& chosen) {
  if (settings.scratch.empty()) return;
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::absolute(settings.scratch, failed);
  if (!failed) std::filesystem::create_directories(folder, failed);
  if (failed) return;  // as it was; whatever needs the folder says so
  if (chosen.working_folder.empty()) chosen.working_folder = folder;
  chosen.environment.try_emplace("TMPDIR", folder.string());
}

Result<LoadedModel> read_loaded(const Json& answer) {
  LoadedModel model;
  const TypedObject members(answer, "the worker's answer to load");
  ASSIGN_OR_RETURN(model.batch_size, members.integer("loaded_batch_size"));
  ASSIGN_OR_RETURN(model.load_ns, members.integer("load_ns"));
  ASSIGN_OR_RETURN(const std::string thread_rule, members.text("thread_rule"));
  model.any_number_of_calls = thread_rule == "any";
  ASSIGN_OR_RETURN(model.qs_mode_supported, members.flag("qs_mode_supported"));
  ASSIGN_OR_RETURN(model.has_benchmark, members.flag("has_benchmark"));
  RETURN_IF_ERROR(members.list("conversions").status());
  model.conversions = answer["conversions"].dump();
  RETURN_IF_ERROR(members.list("inputs").status());
  ASSIGN_OR_RETURN(model.inputs, worker::specs_from_json(answer["inputs"]));
  RETURN_IF_ERROR(members.list("outputs").status());
  ASSIGN_OR_RETURN(model.outputs, worker::specs_from_json(answer["outputs"]));
  if (model.batch_size < 1) {
    return internal_error(
        fmt::format("the backend says that it loaded batch size {}", model.batch_size));
  }
  return model;
}

}  // namespace

std::string absolute_text(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
  return (failed ? path : absolute).string();
}

Result<Session> Session::start(const SessionSettings& settings, const host::Manifest& manifest,
                               const std::string& phase, worker::PhaseEnd& end) {
  const std::filesystem::path log =
      std::filesystem::absolute(settings.log_folder / (phase + ".log"));
  if (settings.kept != nullptr && settings.kept->serves(manifest)) {
    std::optional<worker::Client> client = settings.kept->take();
    // One that was lost since is a new one's business.
    if (client && client->begin_phase(log).ok()) {
      Session session(*std::move(client), settings.timeout, settings.kept);
      session.adopt(settings, manifest, phase);
      return session;
    }
  }
  Result<Session> session = start_new(settings, manifest, log, end);
  if (session.ok()) session->adopt(settings, manifest, phase);
  return session;
}

Result<Session> Session::start_new(const SessionSettings& settings, const host::Manifest& manifest,
                                   const std::filesystem::path& log, worker::PhaseEnd& end) {
  const Result<WorkerLaunch> launch =
      worker_launch(settings.worker_program, settings.python, manifest);
  if (!launch.ok()) {
    end = {worker::Outcome::kFailed, launch.status().message()};
    return launch.status();
  }
  worker::ClientSettings chosen{.program = launch->program,
                                .arguments = launch->arguments,
                                .working_folder = launch->working_folder,
                                .log = log,
                                .environment = launch->environment,
                                .memory_limit_bytes = settings.memory_limit_bytes,
                                .cpu_limit_ns = settings.cpu_limit_ns,
                                .stop = settings.stop};
  give_scratch(settings, chosen);
  if (settings.timeout) chosen.close_timeout = *settings.timeout;
  Result<worker::Client> client = worker::Client::start(std::move(chosen), end);
  if (!client.ok()) return client.status();
  const bool kept = settings.kept != nullptr && settings.kept->serves(manifest);
  Session session(std::move(client).value(), settings.timeout, kept ? settings.kept : nullptr);
  const Result<Json> opened =
      session.call("open", Json{{"library", launch->backend_library.string()}}, kOpenTimeout);
  if (!opened.ok()) {
    end = session.finish(opened.status());
    return opened.status();
  }
  return session;
}

worker::CallOptions Session::options(std::optional<std::chrono::seconds> default_timeout) const {
  worker::CallOptions options;
  options.tick = tick_;
  if (timeout_) {
    options.timeout = timeout_;
  } else if (default_timeout) {
    options.timeout = *default_timeout;
  }
  return options;
}

Result<Json> Session::call(const std::string& op, Json arguments,
                           std::chrono::seconds default_timeout, int passed_fd) {
  worker::CallOptions chosen = options(default_timeout);
  chosen.passed_fd = passed_fd;
  return client_.call(op, std::move(arguments), chosen);
}

Result<Json> Session::call_unbounded(const std::string& op, Json arguments, int passed_fd) {
  worker::CallOptions chosen = options(std::nullopt);
  chosen.passed_fd = passed_fd;
  return client_.call(op, std::move(arguments), chosen);
}

Result<LoadedModel> Session::load(const CompiledModel& model, std::int64_t batch_size,
                                  const std::vector<TensorSpec>& inputs, bool new_handle) {
  Json segments;
  if (runs_segments_) {
    ASSIGN_OR_RETURN(segments, segments_to_load(model.configs, model.compile_result,
                                                model.artifact_folder, batch_size, fallback_));
  }
  ASSIGN_OR_RETURN(const Json answer,
                   call("load",
                        Json{{"configs", model.configs},
                             {"compile_result", model.compile_result},
                             {"artifact_folder", absolute_text(model.artifact_folder)},
                             {"batch_size", batch_size},
                             {"caller_inputs", worker::to_json(inputs)},
                             {"new_handle", new_handle},
                             {"segments", segments}},
                        kLoadTimeout));
  ASSIGN_OR_RETURN(LoadedModel loaded, read_loaded(answer));
  loaded.in_segments = !segments.is_null();
  return loaded;
}

Result<std::vector<SegmentUse>> Session::segments_used() {
  ASSIGN_OR_RETURN(const Json answer, call("segments", Json::object(), kShareTimeout));
  return segment_uses(answer);
}

Result<std::vector<std::string>> Session::notes() {
  ASSIGN_OR_RETURN(const Json answer, call("facts", Json::object(), kShareTimeout));
  const TypedObject members(answer, "the worker's answer to facts");
  ASSIGN_OR_RETURN(const TypedObject facts, members.object("facts"));
  if (!facts.has("notes")) return std::vector<std::string>();
  return facts.texts("notes");
}

Status Session::share_arena(worker::ArenaLayout layout) {
  ASSIGN_OR_RETURN(const std::size_t bytes, worker::arena_bytes(layout));
  ASSIGN_OR_RETURN(worker::SharedMemory memory, worker::SharedMemory::create(bytes));
  const Result<Json> answer =
      call("arena", Json{{"layout", worker::to_json(layout)}}, kShareTimeout, memory.fd());
  if (!answer.ok()) return answer.status();
  arena_ = std::move(memory);
  layout_ = std::move(layout);
  return ok_status();
}

// A Python folder's predict runs all segments itself, as published ones do.
void Session::adopt(const SessionSettings& settings, const host::Manifest& manifest,
                    const std::string& phase) {
  runs_segments_ = manifest.language == host::Language::kCpp;
  fallback_ = settings.fallback;
  warnings_ = settings.warnings;
  log_name_ = phase + ".log";
}

void Session::warn_of_log() {
  const std::uint64_t dropped = client_.dropped_log_bytes();
  if (dropped == 0 || warnings_ == nullptr) return;
  warnings_->push_back(fmt::format(
      "The backend printed more than its log holds: {} bytes in the middle of logs/{} are dropped.",
      dropped, log_name_));
}

worker::PhaseEnd Session::finish(const Status& status) {
  // After a failure nobody knows what the worker still has to say, or in which state its backend
  // is: the next phase starts another one.
  if (kept_ != nullptr && status.ok() && !client_.death()) {
    client_.end_phase();
    warn_of_log();
    peak_rss_bytes_ = client_.peak_rss_bytes();
    kept_->keep(std::move(client_));
    return {};
  }
  const worker::PhaseEnd end = client_.finish(status);
  warn_of_log();
  if (warnings_ != nullptr) {
    std::ranges::copy(worker::warnings_of(client_.left_names()), std::back_inserter(*warnings_));
  }
  peak_rss_bytes_ = client_.peak_rss_bytes();
  return end;
}

}  // namespace assay::controller
