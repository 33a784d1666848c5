// assay report: draws everything that is drawn from a result.json again.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "base/file.h"
#include "cli/command.h"
#include "controller/run.h"
#include "report/console.h"
#include "report/html.h"
#include "report/json.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct Options {
  std::string result;
  std::string output;
  bool json = false;
};

Status draw(const Options& options) {
  std::error_code error;
  const fs::path path = fs::is_directory(options.result, error)
                            ? fs::path(options.result) / "result.json"
                            : fs::path(options.result);
  ASSIGN_OR_RETURN(const Json result, report::read_result(path));
  const fs::path page =
      options.output.empty() ? path.parent_path() / "report.html" : fs::path(options.output);
  RETURN_IF_ERROR(write_file_atomic(page, report::render_html(result)));
  if (options.json) {
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("{}", report::summary_text(result, report::console_style_of(STDOUT_FILENO),
                                          {page.string(), path.string()}));
  }
  return ok_status();
}

}  // namespace

std::function<int()> configure_report(CLI::App& app, const Context& /*context*/) {
  const auto options = std::make_shared<Options>();
  app.add_option("result", options->result, "A result.json, or the folder that holds it")
      ->required();
  app.add_option("--output", options->output, "Where the page goes [report.html beside it]");
  app.add_flag("--json", options->json, "Print the result on standard output, nothing else");
  return [options] {
    const Status status = draw(*options);
    if (status.ok()) return controller::kExitMet;
    complain(status.message());
    return controller::kExitBadInput;
  };
}

}  // namespace assay::cli
