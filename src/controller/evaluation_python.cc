// The parts of an evaluation that a backend in Python needs: its interpreter, the worker that its
// phases share, and what it says of itself.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "controller/evaluation_run.h"
#include "controller/python_set_up.h"
#include "controller/typed_object.h"

namespace assay::controller {
namespace fs = std::filesystem;
Status EvaluationRun::prepare_python() {
  if (setup_.manifest.language != host::Language::kPython) return ok_status();
  ASSIGN_OR_RETURN(PythonSetUp made,
                   set_up_python(setup_.plan.request, setup_.manifest, *environment_, staging_));
  session_.python = std::move(made.worker);
  python_ = std::move(made.environment);
  for (const std::string& note : python_->notes) notes_.push_back(note);
  for (const std::string& stub : setup_.plan.request.stubs) {
    notes_.push_back(fmt::format(
        "The module {} is a stub, as --stub asked: the backend imports it and gets nothing of it.",
        stub));
  }
  return ok_status();
}

// Asked between phases: a note of a worker that was lost goes with it.
void EvaluationRun::take_facts() {
  const std::optional<JsonValue> facts = kept_.facts();
  if (!facts) return;
  const Result<std::vector<std::string>> notes =
      TypedObject(facts->get(), "the backend's facts").texts("notes");
  if (notes.ok()) add_backend_notes(*notes);
}

void EvaluationRun::add_backend_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (std::ranges::find(backend_notes_, note) != backend_notes_.end()) continue;
    backend_notes_.push_back(note);
    notes_.push_back("The backend's host: " + note);
  }
}

// A worker that ends badly only now has cost no phase anything; that it did is one's outcome.
void EvaluationRun::close_worker() {
  take_facts();
  PhaseRecord record;
  record.name = "close";
  record.end = kept_.close(&warnings_);
  if (!record.end.ok()) finish(std::move(record));
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
}

Json EvaluationRun::python_provenance() const {
  const PythonInterpreter& python = python_->interpreter;
  return {{"interpreter", python.path.string()},
          {"implementation", python.implementation},
          {"version", python.version},
          {"platform", python.platform},
          {"environment", python_->hash.empty() ? Json() : Json(python_->hash)},
          {"requirements",
           python_->requirements.empty() ? Json() : Json(python_->requirements.string())},
          {"packages", python.packages},
          {"stubs", setup_.plan.request.stubs}};
}

}  // namespace assay::controller
