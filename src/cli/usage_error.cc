#include "cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/suggest.h"

namespace assay::cli {
namespace {

std::vector<std::string> commands_of(const CLI::App& app) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool is_option(const std::string& argument) { return argument.starts_with('-'); }

// `leftover`: what `app` did not know, not empty. `words`: how it is called, "assay run".
std::string unknown_argument(const CLI::App& app, const std::string& words,
                             const std::vector<std::string>& leftover) {
  for (const std::string& argument : leftover) {
    if (!is_option(argument)) continue;
    const std::string name = argument.substr(0, argument.find('='));
    return fmt::format("unknown option \"{}\"{}; {} --help lists those that there are", name,
                       did_you_mean(name, options_of(app)), words);
  }
  return fmt::format("unexpected \"{}\"; {} --help says what is accepted", leftover.front(), words);
}

std::string command_wanted(const CLI::App& app, const std::vector<std::string>& leftover) {
  const std::vector<std::string> commands = commands_of(app);
  const std::string list = fmt::format("commands are: {}", fmt::join(commands, ", "));
  if (leftover.empty()) return "a command is missing; " + list;
  if (is_option(leftover.front())) return unknown_argument(app, app.get_name(), leftover);
  return fmt::format("unknown command \"{}\"{}; {}", leftover.front(),
                     did_you_mean(leftover.front(), commands), list);
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::vector<std::string> leftover = app.remaining();
  if (chosen.empty()) return command_wanted(app, leftover);
  const CLI::App& command = *chosen.front();
  const std::string words = fmt::format("{} {}", app.get_name(), command.get_name());
  // An option that is misspelt is more to the point than the one that is missing for it.
  if (!leftover.empty()) return unknown_argument(app, app.get_name(), leftover);
  if (const auto own = command.remaining(); !own.empty()) {
    return unknown_argument(command, words, own);
  }
  return fmt::format("{}; {} --help says what is accepted", error.what(), words);
}

}  // namespace assay::cli
