// assay env: what a report's provenance says of this host and this program.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "controller/build_info.h"
#include "controller/run.h"
#include "report/host_facts.h"

namespace assay::cli {
namespace {

Json facts(const controller::Installation& installation) {
  const controller::BuildInfo& build = controller::build_info();
  return Json{{"assay",
               {{"version", build.version},
                {"git_commit", build.git_commit},
                {"compiler", build.compiler},
                {"build_type", build.build_type},
                {"root", installation.root.string()},
                {"cache", installation.cache.string()}}},
              {"host", report::host_facts()}};
}

void print_text(const Json& json) {
  for (const auto& [section, members] : json.items()) {
    fmt::print("{}\n", section);
    for (const auto& [key, value] : members.items()) {
      fmt::print("  {:22}  {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
}

}  // namespace

std::function<int()> configure_env(CLI::App& app, const Context& context) {
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "One JSON document on standard output");
  return [json, &context] {
    const Json found = facts(context.installation);
    if (*json) {
      fmt::print("{}\n", found.dump(2));
    } else {
      print_text(found);
    }
    return controller::kExitMet;
  };
}

}  // namespace assay::cli
