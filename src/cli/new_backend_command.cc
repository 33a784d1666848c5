// assay new-backend NAME: the folder that a vendor begins with.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/console.h"
#include "conformance/scaffold.h"
#include "controller/run.h"

namespace assay::cli {
namespace {

struct Options {
  std::string hardware_type;
  std::string language;
  std::string output = ".";
};

int new_backend(const Options& options) {
  const auto written =
      conformance::write_new_backend(options.hardware_type, options.language, options.output);
  if (!written.ok()) {
    complain(written.status().message());
    return controller::kExitBadInput;
  }
  for (const std::filesystem::path& path : *written) say(path.string() + "\n");
  say(fmt::format("What to fill is marked TODO; {} says how to build and check it.\n",
                  (written->front().parent_path() / "README.md").string()));
  return controller::kExitMet;
}

}  // namespace

std::function<int()> configure_new_backend(CLI::App& app, const Context& /*context*/) {
  const auto options = std::make_shared<Options>();
  app.add_option("hardware_type", options->hardware_type,
                 "Its name: upper case letters, digits and _")
      ->required();
  app.add_option("--language", options->language, "cpp or python")->required();
  app.add_option("--output", options->output, "The folder that gets <NAME>/")
      ->capture_default_str();
  return [options] { return new_backend(*options); };
}

}  // namespace assay::cli
