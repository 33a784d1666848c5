#pragma once

// Internal to the room: the drills, by subject. Each takes its arguments as JSON; those of a
// compiled model have a Job among them.

#include "base/json.h"
#include "base/result.h"
#include "drill/drill.h"
#include "drill/finding.h"

namespace assay::drill {

using Drill = Result<Finding> (*)(const Context& context, const Json& arguments);

// calls.cc: calls on one handle.
Result<Finding> answers_right(const Context& context, const Json& arguments);
Result<Finding> answers_repeat(const Context& context, const Json& arguments);
Result<Finding> outputs_written(const Context& context, const Json& arguments);
Result<Finding> inputs_kept(const Context& context, const Json& arguments);
Result<Finding> wrong_inputs_refused(const Context& context, const Json& arguments);
Result<Finding> batch_above_maximum(const Context& context, const Json& arguments);
Result<Finding> big_tensors(const Context& context, const Json& arguments);
Result<Finding> call_without_end(const Context& context, const Json& arguments);

// handles.cc: several handles, threads, loading again and again.
Result<Finding> handles_at_once(const Context& context, const Json& arguments);
Result<Finding> threads_on_one_handle(const Context& context, const Json& arguments);
Result<Finding> load_again(const Context& context, const Json& arguments);
Result<Finding> broken_artifact(const Context& context, const Json& arguments);
Result<Finding> load_cycles(const Context& context, const Json& arguments);
Result<Finding> what_close_leaves(const Context& context, const Json& arguments);

// compile.cc: the compiler.
Result<Finding> compile_model(const Context& context, const Json& arguments);
Result<Finding> corrupt_model(const Context& context, const Json& arguments);

// entry.cc: before anything is loaded.
Result<Finding> negotiate(const Context& context, const Json& arguments);
Result<Finding> entry_acquires(const Context& context, const Json& arguments);
Result<Finding> probe_acquires(const Context& context, const Json& arguments);
Result<Finding> identity(const Context& context, const Json& arguments);

// async.cc: submitted calls.
Result<Finding> submit_completes(const Context& context, const Json& arguments);
Result<Finding> full_queue(const Context& context, const Json& arguments);
Result<Finding> submit_inside_completion(const Context& context, const Json& arguments);
Result<Finding> cancel(const Context& context, const Json& arguments);
Result<Finding> close_with_calls(const Context& context, const Json& arguments);

// A member of the arguments, or kDataLoss naming it. For bool, std::string, Json and
// std::int64_t.
template <typename T>
Result<T> argument(const Json& arguments, const char* key);

}  // namespace assay::drill
