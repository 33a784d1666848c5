#include "drill/drill.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "drill/drills.h"

namespace assay::drill {
namespace {

struct Row {
  const char* name;
  bool needs_library;
  Drill run;
};
constexpr std::array<Row, 25> kDrills = {{
    {"answers_right", true, answers_right},
    {"answers_repeat", true, answers_repeat},
    {"outputs_written", true, outputs_written},
    {"inputs_kept", true, inputs_kept},
    {"wrong_inputs_refused", true, wrong_inputs_refused},
    {"batch_above_maximum", true, batch_above_maximum},
    {"big_tensors", true, big_tensors},
    {"call_without_end", true, call_without_end},
    {"handles_at_once", true, handles_at_once},
    {"threads_on_one_handle", true, threads_on_one_handle},
    {"load_again", true, load_again},
    {"broken_artifact", true, broken_artifact},
    {"load_cycles", true, load_cycles},
    {"what_close_leaves", true, what_close_leaves},
    {"compile_model", true, compile_model},
    {"corrupt_model", true, corrupt_model},
    {"negotiate", false, negotiate},
    {"entry_acquires", false, entry_acquires},
    {"probe_acquires", true, probe_acquires},
    {"identity", true, identity},
    {"submit_completes", true, submit_completes},
    {"full_queue", true, full_queue},
    {"submit_inside_completion", true, submit_inside_completion},
    {"cancel", true, cancel},
    {"close_with_calls", true, close_with_calls},
}};

}  // namespace

template <typename T>
Result<T> argument(const Json& arguments, const char* key) {
  try {
    return arguments.at(key).get<T>();
  } catch (const Json::exception& error) {
    return data_loss(fmt::format("argument \"{}\": {}", key, error.what()));
  }
}
template Result<bool> argument(const Json&, const char*);
template Result<std::string> argument(const Json&, const char*);
template Result<std::int64_t> argument(const Json&, const char*);
template Result<Json> argument(const Json&, const char*);

Result<Finding> run_drill(const std::string& name, const Context& context, const Json& arguments) {
  const auto* const row =
      std::ranges::find_if(kDrills, [&](const Row& each) { return name == each.name; });
  if (row == kDrills.end()) return not_found(fmt::format("no drill \"{}\"", name));
  if (row->needs_library && context.library == nullptr) {
    return failed_precondition(fmt::format("{}: no backend is open", name));
  }
  return row->run(context, arguments);
}

}  // namespace assay::drill
