// A model that a backend compiles in several segments, which Assay runs one behind the other.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "conformance/checks.h"
#include "controller/segments.h"
#include "controller/steps.h"
#include "worker/output_slots.h"

namespace assay::conformance {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kInferTimeout{60};

// One call of the model that is loaded in segments. What is wrong with its answer; "" for nothing.
Result<std::string> call_once(controller::Session& session, const controller::LoadedModel& loaded,
                              const drill::Case& one) {
  const Tensor& input = one.inputs.front();
  RETURN_IF_ERROR(session.share_arena(
      {.inputs = {input.spec()},
       .outputs = loaded.outputs,
       .input_slots = 1,
       .output_slots = 1,
       .output_capacity_bytes = worker::guess_output_bytes(loaded.outputs, loaded.batch_size)}));
  std::ranges::copy(input.bytes(),
                    worker::input_bytes(session.layout(), session.arena(), 0, 0).begin());
  RETURN_IF_ERROR(session.call("infer", Json{{"slot", 0}}, kInferTimeout).status());
  ASSIGN_OR_RETURN(
      const std::vector<TensorView> outputs,
      worker::read_output_slot(session.layout(),
                               worker::output_slot(session.layout(), session.arena(), 0)));
  const Tensor& right = one.outputs.front();
  if (outputs.size() != 1 || outputs.front().spec != right.spec()) {
    return fmt::format("gives {}, wanted is {}",
                       outputs.empty() ? "nothing" : to_string(outputs.front().spec),
                       to_string(right.spec()));
  }
  const auto got = outputs.front().as<float>();
  const auto wanted = right.as<float>();
  const auto [wrong, other] = std::ranges::mismatch(got, wanted);
  if (wrong == got.end()) return std::string();
  return fmt::format("\"{}\", element {}: {}, right is {}", right.spec().name, wrong - got.begin(),
                     *wrong, *other);
}

Result<CheckResult> run_segments(Bench& bench, controller::Session& session) {
  ASSIGN_OR_RETURN(const fs::path place, bench.folder("model"));
  ASSIGN_OR_RETURN(const fs::path artifact, bench.folder("artifact"));
  ASSIGN_OR_RETURN(const Model model, chain_model(place));
  const std::string configs = bench.configs(model);
  controller::RunObserver nobody;
  controller::Compiled compiled;
  RETURN_IF_ERROR(controller::compile_in_session(
      session, bench.manifest(), {configs, artifact, nullptr, false}, nobody, compiled));
  const drill::Case& one = model.cases.front();
  ASSIGN_OR_RETURN(
      const controller::LoadedModel loaded,
      session.load({configs, compiled.compile_result, artifact}, 1, {one.inputs.front().spec()}));
  if (!loaded.in_segments) {
    return not_supported(fmt::format("a model of {} operators is compiled as a whole", kChain));
  }
  ASSIGN_OR_RETURN(const std::string wrong, call_once(session, loaded, one));
  if (!wrong.empty()) return failed(wrong);
  ASSIGN_OR_RETURN(const std::vector<controller::SegmentUse> used, session.segments_used());
  const auto fallbacks = std::ranges::count(used, true, &controller::SegmentUse::is_fallback);
  const auto operators =
      controller::count_operators(model.path, compiled.parsed, compiled.artifact_folder);
  const std::string contradiction =
      operators ? controller::coverage_contradiction(compiled.parsed, *operators) : "";
  if (!contradiction.empty()) return failed(contradiction);
  return passed(fmt::format("{} segments, {} of them on the CPU", used.size(), fallbacks),
                JsonValue(controller::to_json(used)));
}

}  // namespace

CheckResult check_segments(Bench& bench, std::int64_t /*argument*/) {
  if (!bench.takes_onnx()) return not_supported(kNoOnnx);
  return bench.in_worker(
      [&](controller::Session& session) { return run_segments(bench, session); });
}

}  // namespace assay::conformance
