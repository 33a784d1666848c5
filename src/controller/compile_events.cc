#include "controller/compile_events.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "controller/inference_pass.h"
#include "controller/typed_object.h"

namespace assay::controller {

CompileEvents::CompileEvents(const dataset::Dataset* calibration, RunObserver& observer)
    : calibration_(calibration), observer_(&observer) {
  if (calibration == nullptr) return;
  layout_.inputs.assign(calibration->specs().begin(), calibration->specs().end());
  layout_.input_slots = 1;
}

Status CompileEvents::open() {
  if (calibration_ == nullptr) return ok_status();
  ASSIGN_OR_RETURN(const std::size_t bytes, worker::input_slot_bytes(layout_.inputs));
  ASSIGN_OR_RETURN(memory_, worker::SharedMemory::create(bytes));
  return ok_status();
}

Json CompileEvents::description(bool disjoint) const {
  return Json{{"count", calibration_->size()},
              {"disjoint", disjoint},
              {"bytes", memory_.bytes().size()},
              {"inputs", worker::to_json(layout_.inputs)}};
}

Result<Json> CompileEvents::call(Session& session, const std::string& op, Json arguments,
                                 bool disjoint, std::optional<std::chrono::seconds> timeout) {
  RETURN_IF_ERROR(open());
  if (calibration_ != nullptr) arguments["calibration"] = description(disjoint);
  session.client().set_on_event([this](const Json& event) { return on_event(event); });
  Result<Json> answer = timeout ? session.call(op, std::move(arguments), *timeout, fd())
                                : session.call_unbounded(op, std::move(arguments), fd());
  session.client().set_on_event(nullptr);
  return answer;
}

Json CompileEvents::on_event(const Json& event) {
  const Result<std::string> name = TypedObject(event, "an event of compile").text("event");
  if (name.ok() && *name == "calibration") return read_sample(event);
  if (name.ok() && *name == "progress") show_progress(event);
  return Json::object();
}

Json CompileEvents::read_sample(const Json& event) {
  const auto failed = [](const Status& status) { return Json{{"error", status.to_string()}}; };
  const Result<std::uint64_t> index = TypedObject(event, "an event of compile").count("index");
  if (!index.ok()) return failed(index.status());
  if (calibration_ == nullptr || *index >= calibration_->size()) {
    return failed(out_of_range("there is no such calibration sample"));
  }
  const std::vector<dataset::BatchBuffers> buffers = slot_buffers(layout_, memory_.bytes());
  const Status status = calibration_->read(static_cast<std::size_t>(*index), buffers.front());
  if (!status.ok()) return failed(status);
  ++samples_read_;
  return Json::object();
}

// What a backend says of its progress is shown, never relied on.
void CompileEvents::show_progress(const Json& event) {
  const TypedObject members(event, "an event of compile");
  if (const Result<double> done = members.number("done"); done.ok() && *done >= 0) {
    observer_->progress(static_cast<std::uint64_t>(std::min(*done, 1.0) * 100), 100, "%");
  }
  if (const Result<std::string> stage = members.text("stage"); stage.ok()) observer_->stage(*stage);
}

}  // namespace assay::controller
