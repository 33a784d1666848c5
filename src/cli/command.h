#pragma once

#include <functional>
#include <string>

#include "controller/installation.h"

namespace CLI {
class App;
}

namespace assay::cli {

// What every subcommand may use.
struct Context {
  controller::Installation installation;
};

// A subcommand: adds itself to `app` and returns what to do when it was chosen, which gives the
// exit code.
struct Command {
  const char* name;
  const char* description;
  std::function<int()> (*configure)(CLI::App& app, const Context& context);
};

// Says `message` on standard error, as every failure of the program does.
void complain(const std::string& message);

std::function<int()> configure_run(CLI::App& app, const Context& context);
std::function<int()> configure_bisect(CLI::App& app, const Context& context);
std::function<int()> configure_check_backend(CLI::App& app, const Context& context);
std::function<int()> configure_new_backend(CLI::App& app, const Context& context);
std::function<int()> configure_list(CLI::App& app, const Context& context);
std::function<int()> configure_fetch(CLI::App& app, const Context& context);
std::function<int()> configure_report(CLI::App& app, const Context& context);
std::function<int()> configure_env(CLI::App& app, const Context& context);

}  // namespace assay::cli
