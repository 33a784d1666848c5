// assay list tasks | backends | datasets

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "controller/run.h"
#include "dataset/registry.h"
#include "host/manifest.h"
#include "workload/workload.h"

namespace assay::cli {
namespace {

// One row: a name and what is to be said of it.
struct Row {
  std::string name;
  std::string about;
};

Result<std::vector<Row>> task_rows(const controller::Installation& installation) {
  ASSIGN_OR_RETURN(const std::vector<std::string> tasks,
                   workload::list_tasks(installation.workloads));
  std::vector<Row> rows;
  for (const std::string& task : tasks) {
    const Result<workload::Workload> workload =
        workload::load_workload(installation.workloads / (task + ".json"));
    rows.push_back({task, workload.ok() ? "model " + workload->model
                                        : "broken: " + workload.status().message()});
  }
  return rows;
}

Result<std::vector<Row>> backend_rows(const controller::Installation& installation) {
  std::vector<Row> rows;
  for (const host::FoundBackend& backend : host::find_backends(installation.backends)) {
    if (!backend.manifest.ok()) {
      rows.push_back({backend.hardware_type, "broken: " + backend.manifest.status().message()});
    } else if (!backend.manifest->internal) {
      rows.push_back({backend.hardware_type, backend.manifest->description});
    }
  }
  return rows;
}

Result<std::vector<Row>> dataset_rows(const controller::Installation& /*installation*/) {
  std::vector<Row> rows;
  for (const dataset::DatasetListing& listing : dataset::list_datasets()) {
    rows.push_back({std::string(listing.name), std::string(listing.about)});
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
    for (const Row& row : rows) list.push_back({{"name", row.name}, {"about", row.about}});
    fmt::print("{}\n", list.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  for (const Row& row : rows) fmt::print("{:32}  {}\n", row.name, row.about);
}

int list(const std::string& what, bool json, const controller::Installation& installation) {
  for (const Kind& kind : kKinds) {
    if (what != kind.name) continue;
    const Result<std::vector<Row>> rows = kind.rows(installation);
    if (!rows.ok()) {
      complain(rows.status().message());
      return controller::kExitBadInput;
    }
    print(*rows, json);
    return controller::kExitMet;
  }
  return controller::kExitInternal;
}

}  // namespace

std::function<int()> configure_list(CLI::App& app, const Context& context) {
  struct Options {
    std::string what;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("what", options->what, "tasks, backends or datasets")
      ->required()
      ->check(CLI::IsMember({"tasks", "backends", "datasets"}));
  app.add_flag("--json", options->json, "One JSON document on standard output");
  return [options, &context] { return list(options->what, options->json, context.installation); };
}

}  // namespace assay::cli
