// The program: finds its files, reads the command line, runs the chosen subcommand.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "cli/command.h"
#include "cli/usage_error.h"
#include "controller/build_info.h"
#include "controller/run.h"

namespace assay::cli {
namespace {

constexpr std::array<Command, 8> kCommands = {{
    {"run", "Evaluate a model on a piece of hardware and write the report", configure_run},
    {"bisect", "Find the operator at which a model's error starts on a backend", configure_bisect},
    {"check-backend", "Hold a backend to the boundary's contract, check by check",
     configure_check_backend},
    {"new-backend", "Write the folder that a new backend begins with", configure_new_backend},
    {"list", "Show the tasks, backends or data sets that there are", configure_list},
    {"fetch", "Get and build what a task needs and the repository does not hold", configure_fetch},
    {"report", "Draw the reports of a result.json again", configure_report},
    {"env", "Show this host and this program, as a report records them", configure_env},
}};

// A path or a name that is no text cannot be written into a report, nor passed on as JSON.
bool refuse_what_is_no_text(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (is_valid_utf8(argv[i])) continue;
    complain(fmt::format("argument {}, \"{}\", is not UTF-8 text", i, valid_utf8(argv[i])));
    return true;
  }
  return false;
}

// Options are accepted with _ or -: "--hardware-type" is "--hardware_type".
std::vector<std::string> with_underscores(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.starts_with("--")) {
      const std::size_t end = std::min(argument.find('='), argument.size());
      std::replace(argument.begin() + 2, argument.begin() + static_cast<std::ptrdiff_t>(end), '-',
                   '_');
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

int run_program(int argc, char** argv) {
  if (refuse_what_is_no_text(argc, argv)) return controller::kExitBadInput;
  const Result<std::filesystem::path> executable = controller::own_executable();
  if (!executable.ok()) {
    complain(executable.status().message());
    return controller::kExitInternal;
  }
  const Result<controller::Installation> installation = controller::find_installation(*executable);
  if (!installation.ok()) {
    complain(installation.status().message());
    return controller::kExitBadInput;
  }
  const Context context{*installation};
  CLI::App app("Assay: takes a trained model and a piece of hardware and answers with evidence");
  app.name("assay");
  app.set_version_flag("--version", "assay " + controller::build_info().version);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, std::function<int()>>> commands;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.description);
    commands.emplace_back(sub, command.configure(*sub, context));
  }
  try {
    std::vector<std::string> arguments = with_underscores(argc, argv);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    complain(usage_error(app, error));
    return controller::kExitBadInput;
  }
  for (const auto& [sub, action] : commands) {
    if (sub->parsed()) return action();
  }
  return controller::kExitInternal;
}

}  // namespace

// A standard error that is gone (its terminal was closed) is no reason to fail another way.
void complain(const std::string& message) {
  const std::string line = fmt::format("assay: {}\n", message);
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace assay::cli

int main(int argc, char** argv) {
  try {
    return assay::cli::run_program(argc, argv);
  } catch (const std::exception& error) {
    assay::cli::complain(fmt::format("internal error: {}", error.what()));
    return assay::controller::kExitInternal;
  }
}
