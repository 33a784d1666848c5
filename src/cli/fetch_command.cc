// assay fetch: hands over to the script that knows the package clients.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "cli/command.h"
#include "controller/run.h"

namespace assay::cli {
namespace {

// Replaces this process: the script has the terminal, its signals and the exit code.
int fetch(const std::vector<std::string>& tasks, bool json,
          const controller::Installation& installation) {
  std::error_code error;
  if (!std::filesystem::exists(installation.fetch_script, error)) {
    complain(fmt::format("{} is missing: fetching works in a checkout",
                         quoted(installation.fetch_script)));
    return controller::kExitBadInput;
  }
  std::vector<std::string> words = {"python3", installation.fetch_script.string()};
  if (json) words.emplace_back("--json");
  words.insert(words.end(), tasks.begin(), tasks.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::setenv("ASSAY_CACHE", installation.cache.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  ::execvp("python3", argv.data());
  complain(errno_status(errno, "cannot start python3").message());
  return controller::kExitBadInput;
}

}  // namespace

std::function<int()> configure_fetch(CLI::App& app, const Context& context) {
  struct Options {
    std::vector<std::string> tasks;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("task", options->tasks, "Tasks whose models and data are wanted")->required();
  app.add_flag("--json", options->json, "One JSON document on standard output");
  return [options, &context] { return fetch(options->tasks, options->json, context.installation); };
}

}  // namespace assay::cli
