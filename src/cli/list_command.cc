// assay list tasks | backends | datasets

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "cli/task_list.h"
#include "controller/run.h"
#include "controller/set_up.h"
#include "dataset/registry.h"
#include "host/manifest.h"

namespace assay::cli {
namespace {

Result<std::vector<Row>> backend_rows(const controller::Installation& installation) {
  std::vector<Row> rows;
  for (const host::FoundBackend& backend : host::find_backends(installation.backends)) {
    if (!backend.manifest.ok()) {
      rows.push_back(
          {backend.hardware_type, "broken: " + backend.manifest.status().message(), {}, {}});
    } else if (!backend.manifest->internal) {
      rows.push_back({backend.hardware_type, backend.manifest->description, {}, {}});
    }
  }
  return rows;
}

Result<std::vector<Row>> dataset_rows(const controller::Installation& /*installation*/) {
  std::vector<Row> rows;
  for (const dataset::DatasetListing& listing : dataset::list_datasets()) {
    rows.push_back({std::string(listing.name), std::string(listing.about), {}, {}});
  }
  return rows;
}

struct Kind {
  const char* name;
  Result<std::vector<Row>> (*rows)(const controller::Installation& installation);
};
constexpr std::array<Kind, 3> kKinds = {{
    {"tasks", task_rows},
    {"backends", backend_rows},
    {"datasets", dataset_rows},
}};

void print(const std::vector<Row>& rows, bool json) {
  if (json) {
    Json list = Json::array();
    for (const Row& row : rows) {
      Json each = {{"name", row.name}, {"about", row.about}};
      if (row.facts->is_object()) each.update(*row.facts);
      list.push_back(std::move(each));
    }
    fmt::print("{}\n", list.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  for (const Row& row : rows) {
    if (row.details.empty()) {
      fmt::print("{:32}  {}\n", row.name, row.about);
      continue;
    }
    fmt::print("{}\n", row.name);
    for (const std::string& line : row.details) fmt::print("    {}\n", line);
  }
}

int refuse(const std::string& what) {
  std::vector<std::string> names;
  names.reserve(kKinds.size());
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  complain(fmt::format("there is no list of \"{}\"{}; lists are: {}", what,
                       did_you_mean(what, names), fmt::join(names, ", ")));
  return controller::kExitBadInput;
}

struct Options {
  std::string what;
  std::string backend_path;
  bool json = false;
};

// The installation with the user's own backends in front.
Result<controller::Installation> with_backends(controller::Installation installation,
                                               const std::string& named) {
  workload::RunRequest request;
  request.backend_path = named;
  ASSIGN_OR_RETURN(installation.backends, controller::search_paths(request, installation));
  return installation;
}

int list(const Options& options, const controller::Installation& installed) {
  const std::string& what = options.what;
  const Result<controller::Installation> installation =
      with_backends(installed, options.backend_path);
  if (!installation.ok()) {
    complain(installation.status().message());
    return controller::kExitBadInput;
  }
  for (const Kind& kind : kKinds) {
    if (what != kind.name) continue;
    const Result<std::vector<Row>> rows = kind.rows(*installation);
    if (!rows.ok()) {
      complain(rows.status().message());
      return controller::kExitBadInput;
    }
    print(*rows, options.json);
    return controller::kExitMet;
  }
  return refuse(what);
}

}  // namespace

std::function<int()> configure_list(CLI::App& app, const Context& context) {
  const auto options = std::make_shared<Options>();
  app.add_option("what", options->what, "tasks, backends or datasets")->required();
  app.add_option("--backend_path", options->backend_path,
                 "A backend's folder, or one that holds several: listed too");
  app.add_flag("--json", options->json, "One JSON document on standard output");
  return [options, &context] { return list(*options, context.installation); };
}

}  // namespace assay::cli
