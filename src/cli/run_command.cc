// assay run: the options, the live console, Ctrl-C.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/backend_options.h"
#include "cli/command.h"
#include "cli/console.h"
#include "controller/run.h"
#include "controller/run_folders.h"
#include "report/console.h"

#ifdef ASSAY_HAS_DIALOGS
#include "workload/dialogs_ftxui.h"
#endif

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct Options {
  workload::RunRequest request;
  BackendOptions backend;
  std::string model;
  std::string output;
  std::string batch_sizes;
  std::string answers;
  std::optional<std::int64_t> clients;
  std::optional<std::int64_t> iterations;
  std::optional<double> data_percent;
  std::optional<double> timeout_s;
  std::optional<double> worker_memory_limit_gb;
  std::optional<double> worker_cpu_limit_s;
  bool json = false;
};

void add_options(CLI::App& app, Options& options) {
  workload::RunRequest& request = options.request;
  app.add_option("--task", request.task, "Name of a file in workloads/");
  app.add_option("--model", options.model, "A model file, instead of a task");
  app.add_option("--dim", request.dimensions, "name=value of a free dimension of --model");
  options.backend.add_to(app, request);
  app.add_option("--output", options.output,
                 "Folder for result.json and report.html [results/<task>/<HW>/<time>]");
  app.add_option("--batch_sizes", options.batch_sizes, "Comma-separated: 1,8");
  app.add_option("--clients", options.clients, "Client threads that submit");
  app.add_option("--iterations", options.iterations, "Batches that each client submits, at least");
  app.add_option("--data_percent", options.data_percent, "Share of the data set, 1..100");
  app.add_option("--set", request.set_options, "name=value: answers a backend's question")
      ->allow_extra_args(false);
  app.add_option("--answers", options.answers, "JSON file of answers");
  app.add_option("--timeout", options.timeout_s,
                 "Seconds that a phase's call may take [compile: no limit, a batch: 300]");
  app.add_option("--worker_memory_limit", options.worker_memory_limit_gb,
                 "GB that a worker and what it starts may hold [nine tenths of the machine's]");
  app.add_option("--worker_cpu_limit", options.worker_cpu_limit_s,
                 "Seconds of CPU time that they may use in a phase [no limit]");
  app.add_option("--stability", request.stability,
                 "Budget of the stability matrix: quick, standard, deep, or AXIS=N,... [quick]");
  app.add_option("--seed", request.seed, "Of everything random")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);  // "-1" would become the largest number
  app.add_flag("--interactive", request.interactive, "Ask the backend's questions in dialogs");
  app.add_flag("--compile_only", request.compile_only, "Stop after compiling");
  app.add_flag("--quick", request.quick, "A first answer in about a minute");
  app.add_flag("--resume", request.resume, "Take up an interrupted run in --output");
  app.add_flag("--strict", request.strict, "Undecided counts as not met");
  app.add_flag("--keep_raw", request.keep_raw, "Keep outputs and latencies as .npy files");
  app.add_flag("--json", options.json, "Print result.json on standard output, nothing else");
}

// "1,8" -> {1, 8}. What is not a number is left to the plan to refuse, which knows what is
// accepted.
Result<std::vector<std::int64_t>> parse_batch_sizes(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || stop != part.data() + part.size()) {
      return invalid_argument(
          fmt::format("--batch_sizes {}: \"{}\" is not a whole number; example: --batch_sizes 1,8",
                      text, part));
    }
    sizes.push_back(value);
    begin = end + 1;
  }
  return sizes;
}

std::string run_name() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &parts);
  return text;
}

// results/<task>/<HW>/<time>; two that begin in the same second get -2, -3, ...
Result<fs::path> claim_folder(const workload::RunRequest& request, controller::FolderGuard& guard) {
  const std::string what = request.task.empty() ? request.model.stem().string() : request.task;
  return guard.claim(fs::path("results") / what / request.hardware_type, run_name());
}

void point_latest_to(const fs::path& folder) {
  std::error_code ignored;
  const fs::path link = folder.parent_path() / "latest";
  const fs::path fresh = folder.parent_path() / fmt::format(".latest-{}", ::getpid());
  fs::create_directory_symlink(folder.filename(), fresh, ignored);
  fs::rename(fresh, link, ignored);
}

Status complete(Options& options, const controller::Installation& installation,
                controller::FolderGuard& guard) {
  workload::RunRequest& request = options.request;
  options.backend.apply(request);
  request.model = options.model;
  request.answers_file = options.answers;
  request.clients = options.clients;
  request.iterations = options.iterations;
  request.data_percent = options.data_percent;
  request.timeout_s = options.timeout_s;
  request.worker_memory_limit_gb = options.worker_memory_limit_gb;
  request.worker_cpu_limit_s = options.worker_cpu_limit_s;
  request.workloads_folder = installation.workloads;
  request.model_zoo_folder = installation.model_zoo;
  request.fetched_models_folder = installation.cache / "models";
  if (!options.batch_sizes.empty()) {
    ASSIGN_OR_RETURN(request.batch_sizes, parse_batch_sizes(options.batch_sizes));
  }
  request.output = options.output;
  if (options.output.empty()) {
    ASSIGN_OR_RETURN(request.output, claim_folder(request, guard));
  }
  std::error_code error;
  const fs::path absolute = fs::absolute(request.output, error);
  if (error) return errno_status(error.value(), "--output: cannot tell where this program stands");
  if (is_valid_utf8(absolute.native())) return ok_status();
  return invalid_argument(
      fmt::format("--output: {}, accepted: a folder whose path is UTF-8 text, as reports are",
                  valid_utf8(quoted(absolute))));
}

#ifdef ASSAY_HAS_DIALOGS
// Dialogs are drawn on standard output, which has to be a terminal too and be free for them.
bool can_ask(const Options& options) {
  const bool can = !options.json && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (!can) {
    complain(
        "--interactive: nobody is asked, since standard input and output are not a terminal that "
        "dialogs could have; --set and --answers answer, else the defaults");
  }
  return can;
}
#endif

int run(Options& options, const controller::Installation& installation) {
  controller::FolderGuard guard;  // of a run that leaves nothing
  if (const Status status = complete(options, installation, guard); !status.ok()) {
    complain(status.message());
    return controller::kExitBadInput;
  }
  catch_interrupts();
  const int console_fd = options.json ? STDERR_FILENO : STDOUT_FILENO;
  const report::ConsoleStyle style = report::console_style_of(console_fd);
  Result<controller::RunSummary> summary = [&] {
    report::ProgressConsole console(report::fd_sink(console_fd), style);
    ConsoleObserver observer(console);
    controller::RunEnvironment environment{installation, &observer, &stop_flag(), nullptr};
#ifdef ASSAY_HAS_DIALOGS
    std::unique_ptr<workload::DialogProvider> dialogs;
    if (options.request.interactive && can_ask(options)) {
      dialogs = workload::make_terminal_dialogs(&stop_flag());
      environment.dialogs = dialogs.get();
    }
#endif
    return controller::run(options.request, environment);
  }();
  if (!summary.ok()) {
    complain(summary.status().message());
    return exit_code_of(summary.status());
  }
  if (options.output.empty()) point_latest_to(options.request.output);
  if (options.json) {
    say(summary->result->dump() + "\n");
  } else {
    say(report::summary_text(*summary->result, style,
                             {summary->report_path.string(), summary->result_path.string()}));
  }
  return summary->exit_code;
}

}  // namespace

std::function<int()> configure_run(CLI::App& app, const Context& context) {
  const auto options = std::make_shared<Options>();
  add_options(app, *options);
  return [options, &context] { return run(*options, context.installation); };
}

}  // namespace assay::cli
