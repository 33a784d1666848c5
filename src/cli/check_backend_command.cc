// assay check-backend HW: the conformance suite.

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "cli/backend_options.h"
#include "cli/command.h"
#include "cli/console.h"
#include "conformance/suite.h"
#include "controller/python_set_up.h"
#include "controller/run.h"
#include "controller/set_up.h"
#include "host/manifest.h"
#include "workload/interact_profile.h"
#include "workload/plan.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct Options {
  workload::RunRequest request;  // which backend, and what a Python one runs on
  BackendOptions backend;
  std::vector<std::string> checks;
  std::string model;
  std::string junit;
  std::string output;
  std::optional<double> timeout_s;
  bool quick = false;
  bool json = false;
  bool list = false;
};

// A folder for logs, models and artifacts: the user's, or one that goes with this object.
class Scratch {
 public:
  static Result<Scratch> make(const std::string& named) {
    std::error_code error;
    if (!named.empty()) {
      if (fs::exists(named, error) && !fs::is_empty(named, error)) {
        return already_exists(
            fmt::format("--output: {} is there already, accepted: a new or empty folder",
                        quoted(fs::path(named))));
      }
      fs::create_directories(named, error);
      if (error)
        return errno_status(error.value(), "--output: cannot make " + quoted(fs::path(named)));
      return Scratch(fs::absolute(named), false);
    }
    std::string name = (fs::temp_directory_path() / "assay-check-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return errno_status(errno, "cannot make " + name);
    return Scratch(name, true);
  }
  Scratch(Scratch&& other) noexcept : path_(std::move(other.path_)), goes_(other.goes_) {
    other.goes_ = false;
  }
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (goes_) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  Scratch(fs::path path, bool goes) : path_(std::move(path)), goes_(goes) {}
  fs::path path_;
  bool goes_;
};

// How the program was called: the script of a checkout says so.
std::string typed_name() {
  const char* const typed = std::getenv("ASSAY_TYPED_AS");  // NOLINT(concurrency-mt-unsafe)
  return typed == nullptr || *typed == '\0' ? "assay" : workload::shell_word(typed);
}

std::string command_of(const Options& options) {
  const workload::RunRequest& request = options.request;
  std::string command =
      typed_name() + " check-backend " + workload::shell_word(request.hardware_type);
  const auto add = [&command](const char* option, const std::string& value) {
    if (!value.empty()) command += fmt::format(" {} {}", option, workload::shell_word(value));
  };
  add("--backend_path", request.backend_path);
  add("--python", request.python);
  add("--requirements", request.requirements);
  for (const std::string& each : request.stubs) add("--stub", each);
  if (options.quick) command += " --quick";
  add("--model", options.model);
  if (options.timeout_s) command += fmt::format(" --timeout {}", *options.timeout_s);
  for (const std::string& each : request.set_options) add("--set", each);
  return command;
}

// A backend whose manifest cannot be read is checked, and fails; one that is not there is bad
// input.
Result<host::FoundBackend> find(const Options& options, const controller::Installation& from) {
  const std::string& wanted = options.request.hardware_type;
  ASSIGN_OR_RETURN(const std::vector<fs::path> paths,
                   controller::search_paths(options.request, from));
  for (host::FoundBackend& backend : host::find_backends(paths)) {
    if (backend.hardware_type == wanted) return std::move(backend);
  }
  return host::find_backend(wanted, paths).status();
}

// An environment that has to be made first takes minutes: what is being done goes to standard
// error.
class SetUpObserver : public controller::RunObserver {
 public:
  void waiting(const std::string& what) override { complain(what); }
};

// What workers of a Python backend are; none of another one.
Result<std::optional<controller::PythonWorker>> python_worker(
    const Options& options, const host::FoundBackend& backend,
    const controller::Installation& installation, const fs::path& scratch) {
  if (!backend.manifest.ok()) return std::optional<controller::PythonWorker>();
  RETURN_IF_ERROR(controller::check_python_options(options.request, *backend.manifest));
  if (backend.manifest->language != host::Language::kPython) {
    return std::optional<controller::PythonWorker>();
  }
  SetUpObserver observer;
  const controller::RunEnvironment environment{.installation = installation,
                                               .observer = &observer,
                                               .stop = &stop_flag(),
                                               .dialogs = nullptr};
  ASSIGN_OR_RETURN(
      controller::PythonSetUp made,
      controller::set_up_python(options.request, *backend.manifest, environment, scratch));
  return std::optional(std::move(made.worker));
}

int list_checks(bool json) {
  Json list = Json::array();
  for (const conformance::Check& check : conformance::all_checks()) {
    if (json) {
      list.push_back({{"name", check.name}, {"contract", check.contract}});
    } else {
      say(fmt::format("{:20}  {}\n", check.name, check.contract));
    }
  }
  if (json) say(list.dump(2) + "\n");
  return controller::kExitMet;
}

Result<conformance::SuiteReport> run_suite(const Options& options,
                                           const controller::Installation& installation) {
  ASSIGN_OR_RETURN(const auto checks, conformance::chosen_checks(options.checks));
  for (const std::string& each : options.request.set_options) {
    RETURN_IF_ERROR(workload::parse_set_option(each).status());
  }
  std::error_code error;
  if (!options.model.empty() && !fs::exists(options.model, error)) {
    return not_found(fmt::format("--model: there is no {}", quoted(fs::path(options.model))));
  }
  ASSIGN_OR_RETURN(host::FoundBackend backend, find(options, installation));
  ASSIGN_OR_RETURN(const Scratch scratch, Scratch::make(options.output));
  conformance::SuiteReport report;
  report.hardware_type = options.request.hardware_type;
  report.folder = backend.manifest.ok() ? backend.manifest->folder.string() : "";
  report.quick = options.quick;
  report.command = command_of(options);
  conformance::BenchSettings settings;
  settings.session = controller::session_settings(installation, stop_flag(), options.timeout_s);
  ASSIGN_OR_RETURN(settings.session.python,
                   python_worker(options, backend, installation, scratch.path()));
  settings.scratch = scratch.path();
  if (!options.model.empty()) settings.model = fs::absolute(options.model);
  settings.set_options = options.request.set_options;
  settings.quick = options.quick;
  conformance::Table table;
  conformance::Bench bench(std::move(settings), std::move(backend.manifest));
  report.records =
      conformance::run_checks(bench, checks, [&](const conformance::CheckRecord& record) {
        if (!options.json) say(table.line(record));
      });
  return report;
}

int check_backend(Options& options, const controller::Installation& installation) {
  if (options.list) return list_checks(options.json);
  options.backend.apply(options.request);
  if (options.request.hardware_type.empty()) {
    complain("check-backend: which one? accepted: check-backend HW, or --list");
    return controller::kExitBadInput;
  }
  catch_interrupts();
  const Result<conformance::SuiteReport> report = run_suite(options, installation);
  if (!report.ok()) {
    complain(report.status().message());
    return controller::kExitBadInput;
  }
  if (!options.junit.empty()) {
    const Status written = write_file_atomic(options.junit, conformance::junit_xml(*report));
    if (!written.ok()) {
      complain("--junit: " + written.message());
      return controller::kExitBadInput;
    }
  }
  if (options.json) {
    say(conformance::to_json(*report).dump(2) + "\n");
  } else {
    say(conformance::failures_text(*report) + "\n" + conformance::closing_line(*report));
  }
  if (stop_flag().load()) return controller::kExitInterrupted;
  return report->ok() ? controller::kExitMet : controller::kExitNotMet;
}

}  // namespace

std::function<int()> configure_check_backend(CLI::App& app, const Context& context) {
  const auto options = std::make_shared<Options>();
  options->request.hardware_type.clear();
  app.add_option("hardware_type", options->request.hardware_type, "The backend: CPU, ...");
  options->backend.add_folder_to(app, options->request);
  app.add_option("--check", options->checks, "Only this check, or all that begin with it")
      ->allow_extra_args(false);
  app.add_option("--model", options->model,
                 "A model file for a backend that takes none of the suite's own");
  app.add_option("--set", options->request.set_options, "name=value: answers a backend's question")
      ->allow_extra_args(false);
  app.add_option("--junit", options->junit, "Write a JUnit file too");
  app.add_option("--output", options->output,
                 "Keep logs, models and artifacts in this folder [they go]");
  app.add_option("--timeout", options->timeout_s, "Seconds that one call of a check may take [300]")
      ->check(CLI::Range(0.1, 1e6));
  app.add_flag("--quick", options->quick, "Fewer cycles, smaller tensors: a minute at most");
  app.add_flag("--json", options->json, "One JSON document on standard output");
  app.add_flag("--list", options->list, "Show the checks and what each of them is about");
  return [options, &context] { return check_backend(*options, context.installation); };
}

}  // namespace assay::cli
