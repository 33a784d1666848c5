#pragma once

// Options that say which backend is meant and what it runs on, for subcommands that start one.

#include <string>

#include "workload/plan.h"

namespace CLI {
class App;
}

namespace assay::cli {

// What CLI11 fills and a request holds as paths.
struct BackendOptions {
  std::string backend_path;
  std::string requirements;

  // `request` outlives `app`; it has what was parsed after apply().
  void add_to(CLI::App& app, workload::RunRequest& request);
  // All but --hardware_type, for a subcommand that names the backend otherwise.
  void add_folder_to(CLI::App& app, workload::RunRequest& request);
  void apply(workload::RunRequest& request) const;
};

}  // namespace assay::cli
