#include <nlohmann/json.hpp>
#include <vector>

#include "controller/performance.h"
#include "controller/typed_object.h"

namespace assay::controller {

Result<JsonValue> measure_harness(const SessionSettings& settings,
                                  const host::Manifest& null_backend) {
  worker::PhaseEnd end;
  ASSIGN_OR_RETURN(Session session, Session::start(settings, null_backend, "harness", end));
  const std::vector<TensorSpec> inputs = {{"x", DType::kFloat32, {1, 1}}};  // as it wants
  const CompiledModel model{"{}", "", settings.log_folder};
  ASSIGN_OR_RETURN(const LoadedModel loaded, session.load(model, 1, inputs));
  RETURN_IF_ERROR(session.share_arena(
      {.inputs = inputs,
       .outputs = loaded.outputs,
       .input_slots = 1,
       .output_slots = 1,
       .output_capacity_bytes = worker::guess_output_bytes(loaded.outputs, loaded.batch_size)}));
  const Result<Json> answer = session.call("harness", Json::object(), std::chrono::seconds(60));
  session.finish(answer.ok() ? ok_status() : answer.status());
  if (!answer.ok()) return answer.status();
  RETURN_IF_ERROR(
      TypedObject(*answer, "the worker's answer to harness").object("harness").status());
  return JsonValue((*answer)["harness"]);
}

}  // namespace assay::controller
