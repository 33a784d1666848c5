// A model in several segments: each is loaded by itself, those that fall back by another backend.

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "worker/server_state.h"

namespace assay::worker {
namespace fs = std::filesystem;
namespace {

// Of this process alone, where its temporary files go.
Result<fs::path> scratch_folder(std::int64_t segment) {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (!error) {
    folder /= fmt::format("fallback-{}-{}", ::getpid(), segment);
    fs::remove_all(folder, error);
  }
  if (!error) fs::create_directories(folder, error);
  if (error) return errno_status(error.value(), "cannot make " + quoted(folder));
  return folder;
}

}  // namespace

// {"stages": [stage, ...] in order, "inputs": [...], "outputs": [...] of the model}.
Status Server::load_segments(const Json& segments, const host::LoadRequest& job) {
  if (!library_) return failed_precondition("no backend is open");
  RETURN_IF_ERROR(close_pipeline());
  ASSIGN_OR_RETURN(const Json stages, member<Json>(segments, "stages"));
  ASSIGN_OR_RETURN(const auto inputs, member<std::vector<std::string>>(segments, "inputs"));
  ASSIGN_OR_RETURN(const auto outputs, member<std::vector<std::string>>(segments, "outputs"));
  std::vector<host::StageRequest> requests;
  for (const Json& segment : stages) {
    ASSIGN_OR_RETURN(host::StageRequest request, stage(segment, job));
    requests.push_back(std::move(request));
  }
  std::vector<fs::path> scratch;
  for (const host::StageRequest& request : requests) {
    if (request.is_fallback) scratch.push_back(request.load.artifact_folder);
  }
  auto pipeline = host::Pipeline::load(std::move(requests), inputs, outputs);
  std::error_code ignored;  // what has been read; temporary anyway
  for (const fs::path& folder : scratch) fs::remove_all(folder, ignored);
  if (!pipeline.ok()) return pipeline.status();
  pipeline_ = *std::move(pipeline);
  loaded_ = pipeline_.get();
  return ok_status();
}

// {"segment": sg_idx, "compile_result": text} for one that the backend runs, {"segment": sg_idx,
// "library": path, "configs": text} for one that falls back.
Result<host::StageRequest> Server::stage(const Json& segment, const host::LoadRequest& job) {
  ASSIGN_OR_RETURN(const auto index, member<std::int64_t>(segment, "segment"));
  const bool is_fallback = segment.contains("library");
  host::LoadRequest load = job;
  load.calling = [this, index](const char* method) {
    calling(fmt::format("{} of segment {}", method, index).c_str());
  };
  if (!is_fallback) {
    ASSIGN_OR_RETURN(load.compile_result, member<std::string>(segment, "compile_result"));
    return host::StageRequest{index, false, *library_, std::move(load)};
  }
  ASSIGN_OR_RETURN(const auto path, member<std::string>(segment, "library"));
  if (!fallback_) {
    ASSIGN_OR_RETURN(fallback_, host::Library::open(path, backend_log()));
  }
  ASSIGN_OR_RETURN(load.configs, member<std::string>(segment, "configs"));
  ASSIGN_OR_RETURN(load.artifact_folder, scratch_folder(index));
  ASSIGN_OR_RETURN(load.compile_result,
                   compile_fallback(*fallback_, segment, load.artifact_folder));
  return host::StageRequest{index, true, *fallback_, std::move(load)};
}

Result<std::string> Server::compile_fallback(const host::Library& library, const Json& segment,
                                             const fs::path& folder) {
  ASSIGN_OR_RETURN(const auto index, member<std::int64_t>(segment, "segment"));
  const std::string name = fmt::format("segment {} (fallback on {})", index, library.name());
  calling(fmt::format("compile of segment {}", index).c_str());
  Result<host::CompileBackend> compiler = host::CompileBackend::create(library);
  if (!compiler.ok()) return compiler.status().with_context(name);
  host::CompileRequest request;
  ASSIGN_OR_RETURN(request.configs, member<std::string>(segment, "configs"));
  request.artifact_folder = folder;
  host::NoData no_samples;
  Result<std::string> compiled = compiler->compile(request, no_samples);
  return compiled.ok() ? std::move(compiled) : compiled.status().with_context(name);
}

Result<Json> Server::segments(const Json& /*request*/, int /*fd*/) {
  Json used = Json::array();
  if (!pipeline_) return Json{{"segments", used}};
  for (const host::StageUse& use : pipeline_->use()) {
    used.push_back({{"segment", use.segment},
                    {"is_fallback", use.is_fallback},
                    {"version", use.version},
                    {"calls", use.calls},
                    {"wall_ns", use.wall_ns}});
  }
  return Json{{"segments", std::move(used)}};
}

}  // namespace assay::worker
