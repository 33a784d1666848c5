// Drills of calls on one handle.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "drill/answers.h"
#include "drill/drills.h"
#include "drill/job.h"

namespace assay::drill {
namespace {

// A handle with its cases.
struct Loaded {
  host::RuntimeBackend runtime;
  std::vector<Case> cases;
};

Result<Loaded> load_job(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const Json description, argument<Json>(arguments, "job"));
  ASSIGN_OR_RETURN(const Job job, job_from_json(description));
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, load(*context.library, job));
  ASSIGN_OR_RETURN(std::vector<Case> cases, cases_for(runtime, job));
  return Loaded{std::move(runtime), std::move(cases)};
}

// The finding of a drill that closes its handle as a good host does.
Result<Finding> closed(Loaded& loaded, Finding finding) {
  RETURN_IF_ERROR(loaded.runtime.close());
  return finding;
}

// Which inputs are no good, and how.
struct WrongInput {
  const char* what;
  void (*spoil)(std::vector<TensorView>& inputs);
};
constexpr std::array<WrongInput, 6> kWrongInputs = {{
    {"another name", [](auto& inputs) { inputs[0].spec.name += "_"; }},
    {"another dtype",
     [](auto& inputs) {
       auto& dtype = inputs[0].spec.dtype;
       dtype = dtype == DType::kFloat32 ? DType::kInt32 : DType::kFloat32;
     }},
    {"another rank", [](auto& inputs) { inputs[0].spec.shape.push_back(1); }},
    {"a negative dimension",
     [](auto& inputs) {
       if (inputs[0].spec.shape.empty()) inputs[0].spec.shape.push_back(-1);
       inputs[0].spec.shape[0] = -1;
     }},
    {"a byte too few",
     [](auto& inputs) {
       const auto bytes = inputs[0].bytes;
       inputs[0].bytes =
           bytes.empty() ? std::as_bytes(std::span("x", 1)) : bytes.first(bytes.size() - 1);
     }},
    {"an input too few", [](auto& inputs) { inputs.pop_back(); }},
}};

Result<std::string> objection_to(Loaded& loaded, const WrongInput& wrong) {
  std::vector<TensorView> inputs = views_of(loaded.cases[0].inputs);
  wrong.spoil(inputs);
  AnswerSink sink(loaded.runtime.signature(), kPoison);
  const Status status = loaded.runtime.infer(inputs, sink);
  if (status.code() == StatusCode::kInvalidArgument) return std::string();
  return fmt::format("with {}: {}", wrong.what,
                     status.ok() ? "the call was accepted" : status.to_string());
}

// "" when every case gets its answer.
Result<std::string> first_difference(Loaded& loaded) {
  for (const Case& one : loaded.cases) {
    ASSIGN_OR_RETURN(const std::vector<Tensor> got, answer(loaded.runtime, one.inputs));
    if (std::string found = difference(got, one.outputs); !found.empty()) return found;
  }
  return std::string();
}

}  // namespace

Result<Finding> answers_right(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(Loaded loaded, load_job(context, arguments));
  ASSIGN_OR_RETURN(std::string found, first_difference(loaded));
  const Json facts = {{"loaded_batch_size", loaded.runtime.loaded_batch_size()},
                      {"max_in_flight", loaded.runtime.max_in_flight()},
                      {"can_cancel", loaded.runtime.can_cancel()}};
  return closed(loaded, {std::move(found), facts});
}

Result<Finding> answers_repeat(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const std::int64_t calls, argument<std::int64_t>(arguments, "calls"));
  ASSIGN_OR_RETURN(Loaded loaded, load_job(context, arguments));
  Finding finding{.violation = "", .facts = Json{{"calls", calls}}};
  for (std::int64_t call = 0; call < calls && finding.violation.empty(); ++call) {
    const Case& one = loaded.cases[static_cast<std::size_t>(call) % loaded.cases.size()];
    ASSIGN_OR_RETURN(const std::vector<Tensor> got, answer(loaded.runtime, one.inputs));
    const std::string found = difference(got, one.outputs);
    if (!found.empty()) finding.violation = fmt::format("call {} of {}: {}", call, calls, found);
  }
  return closed(loaded, std::move(finding));
}

// Two calls into memory that held different bytes before: what differs was not written.
Result<Finding> outputs_written(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(Loaded loaded, load_job(context, arguments));
  ASSIGN_OR_RETURN(const auto a, answer(loaded.runtime, loaded.cases[0].inputs, 0x00));
  ASSIGN_OR_RETURN(const auto b, answer(loaded.runtime, loaded.cases[0].inputs, 0xFF));
  const std::string found = difference(a, b);
  const std::string violation =
      found.empty() ? "" : "memory that held 0x00 and 0xff before the call: " + found;
  return closed(loaded, broken(violation));
}

Result<Finding> inputs_kept(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(Loaded loaded, load_job(context, arguments));
  std::string violation;
  for (const Case& one : loaded.cases) {
    ASSIGN_OR_RETURN(const std::vector<Tensor> lent, copies_of(one.inputs));
    AnswerSink sink(loaded.runtime.signature(), kPoison);
    RETURN_IF_ERROR(loaded.runtime.infer(views_of(lent), sink));
    for (std::size_t i = 0; i < lent.size(); ++i) {
      if (std::ranges::equal(lent[i].bytes(), one.inputs[i].bytes())) continue;
      violation = fmt::format("input {} came back changed", to_string(lent[i].spec()));
    }
  }
  return closed(loaded, broken(violation));
}

Result<Finding> wrong_inputs_refused(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(Loaded loaded, load_job(context, arguments));
  if (loaded.cases[0].inputs.empty()) return broken("the model has no inputs");
  std::string violation;
  for (const WrongInput& wrong : kWrongInputs) {
    if (!violation.empty()) break;
    ASSIGN_OR_RETURN(violation, objection_to(loaded, wrong));
  }
  if (violation.empty()) {
    ASSIGN_OR_RETURN(const std::string found, first_difference(loaded));
    if (!found.empty()) violation = "a right call after refused ones: " + found;
  }
  return closed(loaded, {violation, Json{{"kinds", kWrongInputs.size()}}});
}

Result<Finding> batch_above_maximum(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const std::int64_t maximum, argument<std::int64_t>(arguments, "maximum"));
  ASSIGN_OR_RETURN(const Json description, argument<Json>(arguments, "job"));
  ASSIGN_OR_RETURN(Job job, job_from_json(description));
  job.load.batch_size = maximum + 1;
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, host::RuntimeBackend::create(*context.library));
  const Status status = runtime.load(job.load);
  if (!status.ok()) return Finding{"", Json{{"refused", status.to_string()}}};
  const std::int64_t loaded = runtime.loaded_batch_size();
  RETURN_IF_ERROR(runtime.close());
  if (loaded <= maximum) return Finding{"", Json{{"loaded_batch_size", loaded}}};
  return broken(
      fmt::format("load took batch size {} without a word; the compile result says that "
                  "max_batch_size is {}",
                  loaded, maximum));
}

// Identity over `elements` FLOAT32 values.
Result<Finding> big_tensors(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const std::int64_t elements, argument<std::int64_t>(arguments, "elements"));
  ASSIGN_OR_RETURN(const Json description, argument<Json>(arguments, "job"));
  ASSIGN_OR_RETURN(const Job job, job_from_json(description));
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, load(*context.library, job));
  std::vector<Tensor> inputs;
  ASSIGN_OR_RETURN(Tensor input, Tensor::make({"x", DType::kFloat32, {1, elements}}));
  auto values = input.as<float>();
  // Whole numbers below 2^24: each is another one, exactly.
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % (1U << 24U));
  inputs.push_back(std::move(input));
  ASSIGN_OR_RETURN(const std::vector<Tensor> got, answer(runtime, inputs));
  std::string violation;
  if (got.empty() || !std::ranges::equal(got[0].bytes(), inputs[0].bytes())) {
    violation = "the output is not the input, bit for bit";
  }
  RETURN_IF_ERROR(runtime.close());
  return Finding{violation, Json{{"bytes", 2 * inputs[0].bytes().size()}}};
}

// Until this process is killed.
Result<Finding> call_without_end(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(Loaded loaded, load_job(context, arguments));
  for (;;) {
    RETURN_IF_ERROR(answer(loaded.runtime, loaded.cases[0].inputs).status());
  }
}

}  // namespace assay::drill
