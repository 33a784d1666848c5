#include "controller/session.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "controller/typed_object.h"

namespace assay::controller {
namespace {

constexpr std::chrono::seconds kOpenTimeout{60};
constexpr std::chrono::seconds kLoadTimeout{600};
constexpr std::chrono::seconds kShareTimeout{60};

Result<LoadedModel> read_loaded(const Json& answer) {
  LoadedModel model;
  const TypedObject members(answer, "the worker's answer to load");
  ASSIGN_OR_RETURN(model.batch_size, members.integer("loaded_batch_size"));
  ASSIGN_OR_RETURN(model.load_ns, members.integer("load_ns"));
  ASSIGN_OR_RETURN(const std::string thread_rule, members.text("thread_rule"));
  model.any_number_of_calls = thread_rule == "any";
  ASSIGN_OR_RETURN(model.qs_mode_supported, members.flag("qs_mode_supported"));
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

Result<Session> Session::start(const SessionSettings& settings, const host::Manifest& manifest,
                               const std::string& phase, worker::PhaseEnd& end) {
  worker::ClientSettings chosen{.program = settings.worker_program,
                                .log = settings.log_folder / (phase + ".log"),
                                .environment = manifest.environment,
                                .memory_limit_bytes = settings.memory_limit_bytes,
                                .stop = settings.stop};
  if (settings.timeout) chosen.close_timeout = *settings.timeout;
  Result<worker::Client> client = worker::Client::start(std::move(chosen), end);
  if (!client.ok()) return client.status();
  Session session(std::move(client).value(), settings.timeout);
  const Result<Json> opened =
      session.call("open", Json{{"library", manifest.library_path().string()}}, kOpenTimeout);
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
  ASSIGN_OR_RETURN(const Json answer, call("load",
                                           Json{{"configs", model.configs},
                                                {"compile_result", model.compile_result},
                                                {"artifact_folder", model.artifact_folder.string()},
                                                {"batch_size", batch_size},
                                                {"caller_inputs", worker::to_json(inputs)},
                                                {"new_handle", new_handle}},
                                           kLoadTimeout));
  return read_loaded(answer);
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

worker::PhaseEnd Session::finish(const Status& status) { return client_.finish(status); }

}  // namespace assay::controller
