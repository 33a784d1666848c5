#include "libtorch/script.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace cpu {
namespace {

using assay::backend::DType;
using assay::backend::Error;
using assay::backend::Tensor;

constexpr std::array<std::pair<DType, at::ScalarType>, 14> kTypes = {{
    {DType::kFloat64, at::kDouble},
    {DType::kFloat32, at::kFloat},
    {DType::kFloat16, at::kHalf},
    {DType::kBFloat16, at::kBFloat16},
    {DType::kFloat8E4M3, at::kFloat8_e4m3fn},
    {DType::kInt64, at::kLong},
    {DType::kInt32, at::kInt},
    {DType::kInt16, at::kShort},
    {DType::kInt8, at::kChar},
    {DType::kUInt8, at::kByte},
    {DType::kBool, at::kBool},
    {DType::kUInt16, at::kUInt16},
    {DType::kUInt32, at::kUInt32},
    {DType::kUInt64, at::kUInt64},
}};

at::ScalarType scalar_type(DType dtype) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == dtype) return theirs;
  }
  throw Error(ASSAY_UNIMPLEMENTED,
              "LibTorch has no dtype number " + std::to_string(static_cast<std::uint32_t>(dtype)));
}

DType dtype_of(const at::Tensor& tensor) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == tensor.scalar_type()) return ours;
  }
  throw Error(ASSAY_UNIMPLEMENTED, std::string("forward returned a tensor of ") +
                                       c10::toString(tensor.scalar_type()) +
                                       ", which cannot cross the boundary");
}

// The first line of LibTorch's reason: what follows are places in its sources.
std::string reason_of(const std::exception& e) {
  const auto* const own = dynamic_cast<const c10::Error*>(&e);
  const std::string text = own != nullptr ? own->what_without_backtrace() : e.what();
  // An error inside a script begins with the script's own lines; the reason is the last one.
  const std::size_t interpreter = text.find("RuntimeError: ");
  const std::string reason = interpreter == std::string::npos ? text : text.substr(interpreter);
  return reason.substr(0, reason.find('\n'));
}

Error as_error(std::int32_t code, const std::string& doing, const std::exception& e) {
  const std::string reason = reason_of(e);
  const bool memory = reason.find("can't allocate memory") != std::string::npos;
  const bool unknown = reason.find("Unknown builtin op") != std::string::npos;
  if (memory) code = ASSAY_RESOURCE_EXHAUSTED;
  if (unknown) code = ASSAY_UNIMPLEMENTED;
  return {code, doing + ": " + reason};
}

// Borrows the caller's memory, which nothing of LibTorch writes to but an in-place operator of the
// script on its own argument.
at::Tensor borrow(const Tensor& tensor) {
  return at::from_blob(const_cast<void*>(tensor.data<void>()),
                       at::IntArrayRef(tensor.shape(), tensor.rank()),
                       at::TensorOptions().dtype(scalar_type(tensor.dtype())));
}

struct Named {
  std::string key;
  at::Tensor tensor;
};

void collect(const c10::IValue& value, const std::string& key, std::vector<Named>& into) {
  if (value.isTensor()) {
    into.push_back({key, value.toTensor().contiguous()});
  } else if (value.isTuple()) {
    for (const c10::IValue& each : value.toTupleRef().elements()) collect(each, "", into);
  } else if (value.isList()) {
    for (const c10::IValue& each : value.toListRef()) collect(each, "", into);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      collect(entry.value(), entry.key().isString() ? entry.key().toStringRef() : "", into);
    }
  } else if (!value.isNone()) {
    throw Error(ASSAY_UNIMPLEMENTED, "forward returned " + value.tagKind() +
                                         ", accepted: a tensor, or tuple, list or dict of such");
  }
}

// Operators that compute and are made of no other: what calls them would count twice.
constexpr std::array<std::string_view, 17> kArithmetic = {
    "aten::mm",
    "aten::addmm",
    "aten::_addmm_activation",
    "aten::bmm",
    "aten::baddbmm",
    "aten::mv",
    "aten::addmv",
    "aten::dot",
    "aten::mkldnn_convolution",
    "aten::_slow_conv2d_forward",
    "aten::slow_conv3d_forward",
    "aten::_nnpack_spatial_convolution",
    "aten::_conv_depthwise2d",
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::mkldnn_linear",
    "mkldnn::_linear_pointwise",
    "aten::mkldnn_rnn_layer"};

const char* precision_name(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return "FLOAT64";
    case at::kFloat:
      return "FLOAT32";
    case at::kHalf:
      return "FLOAT16";
    case at::kBFloat16:
      return "BFLOAT16";
    case at::kChar:
    case at::kByte:
    case at::kQInt8:
    case at::kQUInt8:
      return "INT8";
    default:
      return nullptr;
  }
}

using Executed = std::map<std::tuple<std::string, std::string, bool>, std::int64_t>;
thread_local Executed* executing = nullptr;  // the callback below is a plain function

std::unique_ptr<at::ObserverContext> see(const at::RecordFunction& function) {
  const std::string name = function.name();
  for (const c10::IValue& input : function.inputs()) {
    if (!input.isTensor() || !input.toTensor().defined()) continue;
    const char* const precision = precision_name(input.toTensor().scalar_type());
    if (precision == nullptr) return nullptr;
    const bool arithmetic =
        std::find(kArithmetic.begin(), kArithmetic.end(), name) != kArithmetic.end() ||
        name.rfind("quantized::", 0) == 0;
    if (executing != nullptr) ++(*executing)[{name, precision, arithmetic}];
    return nullptr;
  }
  return nullptr;
}

// How far the graph is rewritten: as CPU.json says of graph_optimization.
torch::jit::Module prepared(torch::jit::Module module, const std::string& optimization) {
  module.eval();
  if (optimization == "none" || optimization == "basic") return module;
  module = torch::jit::freeze(module);
  return optimization == "all" ? torch::jit::optimize_for_inference(module) : module;
}

// LibTorch's executor first watches a few runs and then rewrites by what it saw: answers may change
// after the second call. Here every call runs the same graph.
void use_one_graph(const std::string& optimization) {
  torch::jit::getProfilingMode() = false;
  torch::jit::getExecutorMode() = false;
  torch::jit::setTensorExprFuserEnabled(false);
  torch::jit::setGraphExecutorOptimize(optimization != "none");
}

}  // namespace

struct ScriptOutputs::Impl {
  std::vector<Named> values;
};

ScriptOutputs::ScriptOutputs(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ScriptOutputs::ScriptOutputs(ScriptOutputs&&) noexcept = default;
ScriptOutputs::~ScriptOutputs() = default;
std::size_t ScriptOutputs::size() const { return impl_->values.size(); }
const std::string& ScriptOutputs::key(std::size_t index) const { return impl_->values[index].key; }
DType ScriptOutputs::dtype(std::size_t index) const {
  return dtype_of(impl_->values[index].tensor);
}
std::vector<std::int64_t> ScriptOutputs::shape(std::size_t index) const {
  return impl_->values[index].tensor.sizes().vec();
}
std::size_t ScriptOutputs::size_bytes(std::size_t index) const {
  return impl_->values[index].tensor.nbytes();
}
const void* ScriptOutputs::data(std::size_t index) const {
  return impl_->values[index].tensor.const_data_ptr();
}

struct Script::Impl {
  mutable torch::jit::Module module;
};

Script::Script(const std::string& path, const Options& options, int cpus)
    : impl_(std::make_unique<Impl>()) {
  at::set_num_threads(options.intra_op_threads.value_or(cpus));
  use_one_graph(options.graph_optimization);
  try {
    impl_->module = prepared(torch::jit::load(path, at::kCPU), options.graph_optimization);
  } catch (const std::exception& e) {
    throw as_error(ASSAY_INVALID_ARGUMENT, path + " is not read as TorchScript", e);
  }
}
Script::~Script() = default;

std::vector<std::string> Script::argument_names() const {
  std::vector<std::string> names;
  const auto& arguments = impl_->module.get_method("forward").function().getSchema().arguments();
  for (std::size_t i = 1; i < arguments.size(); ++i) names.push_back(arguments[i].name());
  return names;
}

std::size_t Script::required_arguments() const {
  const auto& arguments = impl_->module.get_method("forward").function().getSchema().arguments();
  return static_cast<std::size_t>(
      std::count_if(arguments.begin() + 1, arguments.end(),
                    [](auto& a) { return !a.default_value().has_value(); }));
}

ScriptOutputs Script::run(const std::vector<Tensor>& inputs) const {
  const c10::InferenceMode no_gradients;
  std::vector<c10::IValue> values;
  values.reserve(inputs.size());
  for (const Tensor& input : inputs) values.emplace_back(borrow(input));
  auto outputs = std::make_unique<ScriptOutputs::Impl>();
  try {
    collect(impl_->module.forward(std::move(values)), "", outputs->values);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw as_error(ASSAY_INVALID_ARGUMENT, "forward", e);
  }
  return ScriptOutputs(std::move(outputs));
}

ExecutedPrecision Script::record(const std::vector<Tensor>& inputs) const {
  Executed counts;
  executing = &counts;
  const at::CallbackHandle handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&see).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  try {
    run(inputs);
  } catch (...) {
    at::removeCallback(handle);
    executing = nullptr;
    throw;
  }
  at::removeCallback(handle);
  executing = nullptr;
  ExecutedPrecision executed;
  for (const auto& [key, count] : counts) {
    const auto& [op, precision, arithmetic] = key;
    executed.operators.push_back({op, precision, "LibTorch", arithmetic, count});
  }
  return executed;
}

std::string Script::version() { return "LibTorch " TORCH_VERSION; }

}  // namespace cpu
