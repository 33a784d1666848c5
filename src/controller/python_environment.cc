#include "controller/python_environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "base/json_file.h"
#include "base/json_value.h"
#include "base/utf8.h"
#include "controller/device_lock.h"
#include "controller/python_child.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

constexpr int kFormat = 2;  // of an environment: another one is made anew
constexpr std::size_t kMostReasons = 8;
constexpr std::size_t kMostReasonBytes = 300;  // installers list every version that there is
constexpr std::size_t kMostIncludes = 64;
constexpr const char* kWaysOut =
    "Ways out: --python INTERPRETER names one on which they can be had, or one that has them "
    "already, as in the vendor's container; --requirements FILE names other packages to make the "
    "environment of.";

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

std::string shortened(const std::string& text) {
  if (text.size() <= kMostReasonBytes) return text;
  return valid_utf8(text.substr(0, kMostReasonBytes)) + " ...";
}

// The file that a line of requirements includes, or "".
std::string included(const std::string& line) {
  for (const std::string_view option : {"-r", "-c", "--requirement", "--constraint"}) {
    if (!line.starts_with(option)) continue;
    const std::string rest = trimmed(std::string_view(line).substr(option.size()));
    return rest.starts_with('=') ? trimmed(std::string_view(rest).substr(1)) : rest;
  }
  return "";
}

// Steps that are worth a line while an installer works.
bool is_step(const std::string& line) {
  constexpr std::array<std::string_view, 6> kSteps = {
      "Collecting ", "Processing ", "Downloading ", "Building ", "Installing ", "Successfully "};
  return std::ranges::any_of(kSteps, [&](std::string_view step) { return line.starts_with(step); });
}

std::vector<std::string> installer_arguments(const fs::path& requirements,
                                             const std::string& text) {
  std::vector<std::string> arguments = {"-m", "pip", "install", "--no-input"};
  for (const char* more : {"--disable-pip-version-check", "--progress-bar", "off", "-r"}) {
    arguments.emplace_back(more);
  }
  arguments.push_back(requirements.string());
  // An installer that checks hashes takes nothing that has none.
  if (text.find("--hash") == std::string::npos) arguments.emplace_back("numpy");
  return arguments;
}

// Makes one environment in `folder`, which holds its log and, once all is done, its record.
class EnvironmentMaker {
 public:
  EnvironmentMaker(const PythonRoom& room, fs::path folder)
      : room_(&room), folder_(std::move(folder)) {}

  fs::path log() const { return folder_ / "install.log"; }
  fs::path record() const { return folder_ / "environment.json"; }
  fs::path python() const { return folder_ / "env" / "bin" / "python"; }

  // The interpreter that was made, as the record describes it; none without a whole record. That
  // comes last: without it nothing here is used.
  std::optional<PythonInterpreter> made() const {
    std::error_code error;
    if (!fs::exists(python(), error)) return std::nullopt;
    const Result<JsonFile> record_file = JsonFile::read(record());
    if (!record_file.ok()) return std::nullopt;
    Result<PythonInterpreter> found = interpreter_from_json(record_file->value(), python());
    return found.ok() ? std::optional(*std::move(found)) : std::nullopt;
  }

  Result<PythonInterpreter> make(const PythonInterpreter& base, const fs::path& requirements,
                                 const std::string& text) {
    std::error_code error;
    fs::remove_all(folder_, error);
    fs::create_directories(folder_, error);
    if (error) return errno_status(error.value(), "cannot make " + quoted(folder_));
    room_->say(fmt::format("python: making an environment of {} on {} {}; its log is {}",
                           quoted(requirements), base.implementation, base.version, quoted(log())));
    RETURN_IF_ERROR(step(base.path, {"-m", "venv", (folder_ / "env").string()}, {}));
    RETURN_IF_ERROR(
        step(python(), installer_arguments(requirements, text), requirements.parent_path()));
    ASSIGN_OR_RETURN(const PythonInterpreter made,
                     ask_interpreter(python().string(), log(), room_->stop));
    Json json = to_json(made);
    json.update({{"format", kFormat}, {"base", base.path.string()}, {"requirements", text}});
    RETURN_IF_ERROR(write_file_atomic(record(), JsonValue(json).dump()));
    room_->say(fmt::format("python: the environment is ready: {} packages", made.packages.size()));
    return made;
  }

 private:
  Status step(const fs::path& program, std::vector<std::string> arguments, const fs::path& where) {
    ChildRequest request;
    request.program = program;
    request.arguments = std::move(arguments);
    request.environment = {{"PYTHONUNBUFFERED", "1"}};
    request.log = log();
    request.working_folder = where;
    request.stop = room_->stop;
    request.on_line = [this](const std::string& line) {
      const std::string text = trimmed(line);
      if (is_step(text)) room_->say("python: " + text);
    };
    return run_child(request);
  }

  const PythonRoom* room_;
  fs::path folder_;
};

Status with_ways_out(const Status& status, const EnvironmentMaker& maker,
                     const fs::path& requirements, const PythonInterpreter& base) {
  const Result<std::string> text = read_file(maker.log());
  return {status.code() == StatusCode::kNotFound ? StatusCode::kFailedPrecondition : status.code(),
          fmt::format("the packages of {} cannot be had for {} {} ({}): {}\n{}\nThe whole log is "
                      "{}.\n{}",
                      quoted(requirements), base.implementation, base.version, quoted(base.path),
                      status.message(), installer_reason(text.ok() ? *text : ""),
                      quoted(maker.log()), kWaysOut)};
}

std::map<std::string, std::string> variables_of(const fs::path& environment) {
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return {{"VIRTUAL_ENV", environment.string()},
          {"PATH", (environment / "bin").string() + (path == nullptr ? "" : ":") +
                       (path == nullptr ? "" : path)}};
}

Result<PythonEnvironment> of_requirements(const fs::path& requirements,
                                          const PythonInterpreter& base, const PythonRoom& room) {
  ASSIGN_OR_RETURN(const std::string text, requirements_text(requirements));
  PythonEnvironment environment;
  environment.hash = environment_hash(text, base);
  environment.requirements = requirements;
  const fs::path folder = room.cache / "python" / environment.hash;
  EnvironmentMaker maker(room, folder);
  std::optional<PythonInterpreter> made = maker.made();
  if (!made) {
    ASSIGN_OR_RETURN(
        const DeviceLock lock,
        DeviceLock::take(room.cache / "locks", "python-" + environment.hash.substr(0, 12),
                         *room.stop, room.say));
    made = maker.made();
    if (!made) {
      Result<PythonInterpreter> fresh = maker.make(base, requirements, text);
      if (fresh.status().code() == StatusCode::kCancelled) return fresh.status();
      if (!fresh.ok()) return with_ways_out(fresh.status(), maker, requirements, base);
      made = *std::move(fresh);
    }
  }
  environment.log = maker.log();
  environment.variables = variables_of(folder / "env");
  environment.interpreter = *std::move(made);
  return environment;
}

Result<PythonEnvironment> as_it_is(const PythonInterpreter& base, const PythonWish& wish) {
  PythonEnvironment environment;
  environment.interpreter = base;
  std::error_code error;
  const fs::path unused = wish.backend / "requirements.txt";
  if (!wish.interpreter.empty() && fs::exists(unused, error)) {
    environment.notes.push_back(
        fmt::format("The packages are those of {}, named with --python; {} was not looked at.",
                    quoted(base.path), quoted(unused)));
  }
  if (base.has_numpy) return environment;
  return failed_precondition(fmt::format(
      "{} ({} {}) has no numpy, which Assay's host of Python backends needs. Ways out: --python "
      "INTERPRETER names one that has it; --requirements FILE, with a line numpy or an empty one, "
      "has Assay make an environment with it.",
      quoted(base.path), base.implementation, base.version));
}

}  // namespace

Result<PythonEnvironment> find_or_make_environment(const PythonWish& wish, const PythonRoom& room) {
  ASSIGN_OR_RETURN(const PythonInterpreter base,
                   ask_interpreter(wish.interpreter.empty() ? "python3" : wish.interpreter,
                                   room.logs / "python.log", room.stop));
  if (!wish.requirements.empty()) {
    std::error_code error;
    if (!fs::is_regular_file(wish.requirements, error)) {
      return not_found(
          fmt::format("--requirements: there is no file {}", quoted(wish.requirements)));
    }
    return of_requirements(fs::absolute(wish.requirements), base, room);
  }
  std::error_code error;
  const fs::path own = wish.backend / "requirements.txt";
  if (wish.interpreter.empty() && fs::exists(own, error)) return of_requirements(own, base, room);
  return as_it_is(base, wish);
}

std::string environment_hash(const std::string& requirements, const PythonInterpreter& base) {
  return sha256_hex(fmt::format("{}\n{}\n{}\n{}\n{}\n{}", kFormat, base.implementation,
                                base.version, base.path.string(), base.platform, requirements));
}

Result<std::string> requirements_text(const fs::path& file) {
  std::string text;
  std::deque<fs::path> files = {file};
  for (std::size_t count = 0; !files.empty(); ++count) {
    if (count == kMostIncludes) {
      return invalid_argument(
          fmt::format("{} includes more than {} files", quoted(file), kMostIncludes));
    }
    const fs::path next = files.front();
    files.pop_front();
    ASSIGN_OR_RETURN(const std::string part, read_file(next, std::uint64_t{1} << 20));
    text += part + "\n";
    std::istringstream lines(part);
    for (std::string line; std::getline(lines, line);) {
      const std::string name = included(trimmed(line));
      if (!name.empty()) files.push_back(next.parent_path() / name);
    }
  }
  return text;
}

std::string installer_reason(const std::string& log_text) {
  std::vector<std::string> reasons;
  std::deque<std::string> last;
  std::istringstream lines(log_text);
  for (std::string line; std::getline(lines, line);) {
    const std::string text = shortened(trimmed(line));
    if (text.empty()) continue;
    last.push_back(text);
    if (last.size() > kMostReasons) last.pop_front();
    const bool is_reason = text.starts_with("ERROR:") || text.starts_with("error:") ||
                           text.starts_with("× ") || text.starts_with("Error:");
    if (is_reason && reasons.size() < kMostReasons &&
        std::ranges::find(reasons, text) == reasons.end()) {
      reasons.push_back(text);
    }
  }
  if (!reasons.empty()) return fmt::format("  {}", fmt::join(reasons, "\n  "));
  return last.empty() ? "  (it said nothing)" : fmt::format("  {}", fmt::join(last, "\n  "));
}

}  // namespace assay::controller
