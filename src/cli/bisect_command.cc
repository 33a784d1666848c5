// assay bisect: where the error starts; and --repeat, which looks at a finding again.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "base/file.h"
#include "cli/backend_options.h"
#include "cli/command.h"
#include "cli/console.h"
#include "controller/bisect.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct Options {
  controller::BisectRequest request;
  BackendOptions backend;
  std::string model;
  std::string output;
  std::string answers;
  std::string repeat;
  std::optional<double> timeout_s;
  bool json = false;
};

void add_options(CLI::App& app, Options& options) {
  workload::RunRequest& run = options.request.run;
  app.add_option("--task", run.task, "Name of a file in workloads/");
  app.add_option("--model", options.model, "A model file, instead of a task");
  app.add_option("--dim", run.dimensions, "name=value of a free dimension of --model");
  options.backend.add_to(app, run);
  app.add_option("--sample", options.request.sample,
                 "Id or number of the input [the one whose outputs are furthest off]");
  app.add_option("--samples", options.request.samples,
                 "How many of the first samples are looked at for it")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--output", options.output,
                 "Folder for the finding [results/<task>/<HW>/bisect-<hash>]");
  app.add_option("--repeat", options.repeat,
                 "Folder of a finding: compile its minimal model again and compare");
  app.add_option("--set", run.set_options, "name=value: answers a backend's question")
      ->allow_extra_args(false);
  app.add_option("--answers", options.answers, "JSON file of answers");
  app.add_option("--timeout", options.timeout_s,
                 "Seconds that a call of a worker may take [compile: no limit, a call: 300]");
  app.add_option("--seed", run.seed, "Of generated data and of the tolerance's rounding")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--json", options.json, "Print bisect.json on standard output, nothing else");
}

void complete(Options& options, const controller::Installation& installation) {
  controller::BisectRequest& request = options.request;
  workload::RunRequest& run = request.run;
  options.backend.apply(run);
  run.model = options.model;
  run.answers_file = options.answers;
  run.timeout_s = options.timeout_s;
  run.workloads_folder = installation.workloads;
  run.model_zoo_folder = installation.model_zoo;
  run.fetched_models_folder = installation.cache / "models";
  request.inside_output = options.output.empty();
  const std::string what = run.task.empty() ? run.model.stem().string() : run.task;
  run.output = request.inside_output ? fs::path("results") / what / run.hardware_type
                                     : fs::path(options.output);
}

Status check_repeat(const Options& options) {
  const workload::RunRequest& run = options.request.run;
  if (run.task.empty() && options.model.empty() && options.output.empty() &&
      !options.request.sample && run.dimensions.empty()) {
    return ok_status();
  }
  return invalid_argument(
      "--repeat: the finding names model and input; accepted beside it: --hardware_type, "
      "--backend_path, --python, --requirements, --stub, --set, --answers, --timeout, --json");
}

Result<controller::BisectSummary> search_or_repeat(const Options& options,
                                                   const controller::RunEnvironment& environment) {
  if (options.repeat.empty()) return controller::bisect(options.request, environment);
  RETURN_IF_ERROR(check_repeat(options));
  const controller::RepeatRequest request{options.repeat, options.request.run};
  return controller::repeat_bisect(request, environment);
}

int bisect(Options& options, const controller::Installation& installation) {
  complete(options, installation);
  catch_interrupts();
  const int console_fd = options.json ? STDERR_FILENO : STDOUT_FILENO;
  const Result<controller::BisectSummary> summary = [&] {
    report::ProgressConsole console(report::fd_sink(console_fd),
                                    report::console_style_of(console_fd));
    ConsoleObserver observer(console);
    const controller::RunEnvironment environment{installation, &observer, &stop_flag(), nullptr};
    return search_or_repeat(options, environment);
  }();
  if (!summary.ok()) {
    complain(summary.status().message());
    return exit_code_of(summary.status());
  }
  if (options.json) {
    say(summary->result.dump() + "\n");
  } else {
    say(options.repeat.empty() ? controller::bisect_text(*summary)
                               : controller::repeat_text(*summary));
  }
  return summary->exit_code;
}

}  // namespace

std::function<int()> configure_bisect(CLI::App& app, const Context& context) {
  const auto options = std::make_shared<Options>();
  add_options(app, *options);
  return [options, &context] { return bisect(*options, context.installation); };
}

}  // namespace assay::cli
