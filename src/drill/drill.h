#pragma once

// Short exercises of a backend, run inside the worker that holds it, where many calls cost no
// message and where the process itself can be looked at. Which of them make up a check, and what
// its contract is, is conformance's to say.

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "drill/finding.h"
#include "host/library.h"

namespace assay::drill {

// What a drill gets. `library` is null where the backend has not been opened: then the drill does
// it, from `path`.
struct Context {
  const host::Library* library = nullptr;
  std::filesystem::path path;
};

// Runs the drill of that name. kNotFound for an unknown one; else what the backend failed with.
Result<Finding> run_drill(const std::string& name, const Context& context, const Json& arguments);

}  // namespace assay::drill
