#include "cli/backend_options.h"

#include <CLI/CLI.hpp>

namespace assay::cli {

void BackendOptions::add_to(CLI::App& app, workload::RunRequest& request) {
  app.add_option("--hardware_type", request.hardware_type, "Backend: CPU, ...")->required();
  add_folder_to(app, request);
}

void BackendOptions::add_folder_to(CLI::App& app, workload::RunRequest& request) {
  app.add_option("--backend_path", backend_path,
                 "Folder of the backend, or the one that holds it; searched first");
  app.add_option("--python", request.python,
                 "Interpreter of a Python backend, taken as it is [python3, or an environment made "
                 "of the backend's requirements.txt]");
  app.add_option("--requirements", requirements,
                 "File of packages to make a Python backend's environment of, instead of its own");
  app.add_option("--stub", request.stubs,
                 "Module that a Python backend imports and does not need here; repeatable")
      ->allow_extra_args(false);
}

void BackendOptions::apply(workload::RunRequest& request) const {
  request.backend_path = backend_path;
  request.requirements = requirements;
}

}  // namespace assay::cli
