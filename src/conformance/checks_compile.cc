// Checks of the compiler and of its artifact.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "conformance/checks.h"
#include "conformance/watch.h"
#include "controller/steps.h"

namespace assay::conformance {
namespace fs = std::filesystem;
namespace {

// "Call it every few seconds at least."
constexpr std::int64_t kLongestSilenceMs = 10'000;

Result<drill::Finding> compile_drill(Bench& bench, controller::Session& session,
                                     const fs::path& artifact, bool cancel) {
  return call_drill(session, "compile_model",
                    Json{{"configs", bench.configs(*bench.model())},
                         {"artifact_folder", artifact.string()},
                         {"cancel", cancel}});
}

// Compiles the everyday model in this session and asks it for its answers.
Result<CheckResult> compile_and_answer(Bench& bench, controller::Session& session,
                                       const Model& model, const fs::path& artifact) {
  ASSIGN_OR_RETURN(const CompiledModel compiled, bench.compile(session, model, artifact));
  ASSIGN_OR_RETURN(const drill::Finding finding,
                   call_drill(session, "answers_right", Json{{"job", to_json(compiled.job)}}));
  return result_of(finding);
}

// A model file that is none, made of one that is.
struct Corruption {
  const char* what;
  std::string (*corrupt)(const std::string& bytes);
};
constexpr std::array<Corruption, 3> kCorruptions = {{
    {"empty", [](const std::string&) { return std::string(); }},
    {"cut in the middle",
     [](const std::string& bytes) { return bytes.substr(0, bytes.size() / 2); }},
    {"noise",
     [](const std::string& bytes) {
       std::uint32_t state = 1;  // a linear congruential generator: the same noise everywhere
       std::string noise = bytes;
       for (char& byte : noise)
         byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
       return noise;
     }},
}};

Result<Json> corrupt_jobs(Bench& bench, const Model& model) {
  ASSIGN_OR_RETURN(const std::string bytes, read_file(model.path));
  Json jobs = Json::array();
  for (const Corruption& corruption : kCorruptions) {
    ASSIGN_OR_RETURN(const fs::path place, bench.folder("model"));
    ASSIGN_OR_RETURN(const fs::path artifact, bench.folder("artifact"));
    Model broken;
    broken.path = place / model.path.filename();
    broken.info = model.info;
    broken.info.mutable_value()["model_path"] = broken.path.string();
    RETURN_IF_ERROR(write_file_atomic(broken.path, corruption.corrupt(bytes)));
    jobs.push_back({{"what", corruption.what},
                    {"configs", bench.configs(broken)},
                    {"artifact_folder", artifact.string()}});
  }
  return jobs;
}

Status copy_tree(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing, error);
  return error ? errno_status(error.value(), "cannot copy " + quoted(from)) : ok_status();
}

// Every file of `folder` cut to its half. How many there were.
Result<std::size_t> cut_files(const fs::path& folder) {
  std::size_t count = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->is_regular_file()) continue;
    std::error_code failed;
    fs::resize_file(it->path(), it->file_size() / 2, failed);
    if (failed) return errno_status(failed.value(), "cannot cut " + quoted(it->path()));
    ++count;
  }
  return count;
}

// Where compile_folder makes the worker's environment point.
struct Elsewhere {
  fs::path home;
  fs::path temporary;
  fs::path here;

  std::map<std::string, std::string> environment() const {
    return {{"HOME", home.string()},
            {"XDG_CACHE_HOME", (home / ".cache").string()},
            {"TMPDIR", temporary.string()}};
  }
};

}  // namespace

CheckResult check_compile(Bench& bench, std::int64_t /*argument*/) {
  const Result<fs::path> artifact = bench.folder("artifact");
  if (!artifact.ok()) return skipped(artifact.status().message());
  CheckResult result = bench.in_worker([&](controller::Session& session) -> Result<CheckResult> {
    ASSIGN_OR_RETURN(const drill::Finding finding, compile_drill(bench, session, *artifact, false));
    const auto silence_ms = finding.facts->value("longest_silence_ms", std::int64_t{0});
    if (silence_ms > kLongestSilenceMs) {
      return failed(fmt::format("compile was silent for {} ms, accepted: {} ms", silence_ms,
                                kLongestSilenceMs));
    }
    return result_of(finding);
  });
  if (result.outcome != Outcome::kPassed) return result;
  // What it returned is held against its schema where everything else gets it from.
  if (!bench.compiled().ok()) return failed(bench.compiled().status().message());
  return passed(fmt::format("{} heartbeats in {} ms", result.facts->value("beats", 0),
                            result.facts->value("wall_ms", 0)));
}

CheckResult check_compile_cancel(Bench& bench, std::int64_t /*argument*/) {
  const Result<fs::path> artifact = bench.folder("artifact");
  if (!artifact.ok()) return skipped(artifact.status().message());
  CheckResult result = bench.in_worker([&](controller::Session& session) -> Result<CheckResult> {
    ASSIGN_OR_RETURN(const drill::Finding finding, compile_drill(bench, session, *artifact, true));
    return result_of(finding);
  });
  if (result.outcome != Outcome::kPassed || result.facts->value("beats", 0) > 0) return result;
  return passed("compile was done before its first heartbeat");
}

CheckResult check_compile_folder(Bench& bench, std::int64_t /*argument*/) {
  const Result<fs::path> artifact = bench.folder("artifact");
  const Result<fs::path> home = bench.folder("home");
  const Result<fs::path> temporary = bench.folder("tmp");
  if (!artifact.ok() || !home.ok() || !temporary.ok()) return skipped("no folder can be made");
  const Elsewhere elsewhere{*home, *temporary, {}};
  std::vector<fs::path> roots = {elsewhere.home, elsewhere.temporary, bench.manifest().folder};
  if (!bench.model()->path.empty()) roots.push_back(bench.model()->path.parent_path());
  const FolderWatch watch(std::move(roots));
  CheckResult result = bench.in_worker(
      [&](controller::Session& session) -> Result<CheckResult> {
        ASSIGN_OR_RETURN(const drill::Finding finding,
                         compile_drill(bench, session, *artifact, false));
        return result_of(finding);
      },
      elsewhere.environment());
  if (result.outcome != Outcome::kPassed) return result;
  const std::vector<std::string> changed = watch.changes();
  if (changed.empty()) return passed();
  return failed(fmt::format("compile left {}", fmt::join(changed, ", ")));
}

CheckResult check_compile_twice(Bench& bench, std::int64_t /*argument*/) {
  return bench.in_worker([&](controller::Session& session) -> Result<CheckResult> {
    for (const char* const name : {"first artifact", "second artifact"}) {
      ASSIGN_OR_RETURN(const fs::path artifact, bench.folder(name));
      ASSIGN_OR_RETURN(CheckResult result,
                       compile_and_answer(bench, session, *bench.model(), artifact));
      if (result.outcome != Outcome::kPassed) return result;
    }
    return passed();
  });
}

CheckResult check_corrupt_model(Bench& bench, std::int64_t /*argument*/) {
  const Model& model = *bench.model();
  std::error_code error;
  if (!fs::is_regular_file(model.path, error)) {
    return not_supported("the manifest declares model_formats []: it reads no model file");
  }
  const Result<Json> jobs = corrupt_jobs(bench, model);
  if (!jobs.ok()) return skipped(jobs.status().message());
  return bench.drill("corrupt_model", Json{{"jobs", *jobs}});
}

CheckResult check_moved_artifact(Bench& bench, std::int64_t /*argument*/) {
  const Result<fs::path> artifact = bench.folder("before");
  const Result<fs::path> elsewhere = bench.folder("after");
  if (!artifact.ok() || !elsewhere.ok()) return skipped("no folder can be made");
  std::optional<CompiledModel> compiled;
  CheckResult made = bench.in_worker([&](controller::Session& session) -> Result<CheckResult> {
    ASSIGN_OR_RETURN(compiled, bench.compile(session, *bench.model(), *artifact));
    return passed();
  });
  if (made.outcome != Outcome::kPassed) return made;
  std::error_code error;
  fs::rename(*artifact, *elsewhere / "moved", error);
  if (error) return skipped("the artifact cannot be moved: " + error.message());
  compiled->job.load.artifact_folder = *elsewhere / "moved";
  return bench.drill("answers_right", Json{{"job", to_json(compiled->job)}});
}

CheckResult check_broken_artifact(Bench& bench, std::int64_t /*argument*/) {
  const fs::path& whole = bench.compiled()->job.load.artifact_folder;
  const Result<fs::path> gone = bench.folder("gone");
  const Result<fs::path> cut = bench.folder("cut");
  if (!gone.ok() || !cut.ok()) return skipped("no folder can be made");
  if (const Status copied = copy_tree(whole, *cut); !copied.ok()) {
    return skipped(copied.message());
  }
  const Result<std::size_t> files = cut_files(*cut);
  if (!files.ok()) return skipped(files.status().message());
  if (*files == 0) return not_supported("the artifact has no files: there is nothing to break");
  return bench.model_drill(
      "broken_artifact",
      Json{{"broken_folders", {{"gone", gone->string()}, {"cut to half", cut->string()}}}});
}

CheckResult check_paths(Bench& bench, std::int64_t /*argument*/) {
  static constexpr const char* kName = "a path with spaces, ä, 模型 & 'quotes'";
  return bench.in_worker([&](controller::Session& session) -> Result<CheckResult> {
    ASSIGN_OR_RETURN(const fs::path place, bench.folder(kName));
    ASSIGN_OR_RETURN(const fs::path artifact, bench.folder(kName));
    if (!bench.takes_onnx() || bench.model()->batched == false) {
      return compile_and_answer(bench, session, *bench.model(), artifact);
    }
    ASSIGN_OR_RETURN(const Model model, linear_model(place, !bench.support().dynamic_batch));
    return compile_and_answer(bench, session, model, artifact);
  });
}

}  // namespace assay::conformance
