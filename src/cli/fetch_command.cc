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
int fetch(const std::vector<std::string>& arguments, const controller::Installation& installation) {
  std::error_code error;
  if (!std::filesystem::exists(installation.fetch_script, error)) {
    complain(fmt::format("{} is missing: fetching works in a checkout",
                         quoted(installation.fetch_script)));
    return controller::kExitBadInput;
  }
  std::vector<std::string> words = {"python3", installation.fetch_script.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
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
  const auto arguments = std::make_shared<std::vector<std::string>>();
  app.add_option("task", *arguments, "Tasks whose models and data are wanted")->required();
  return [arguments, &context] { return fetch(*arguments, context.installation); };
}

}  // namespace assay::cli
