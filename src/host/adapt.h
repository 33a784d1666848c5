#pragma once

// The caller has tensors of one dtype, the compiled model wants another: decided once per load,
// input by input, from the model's own signature.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/runtime.h"
#include "tensor/tensor.h"

namespace assay::host {

// What may be done to a tensor on its way. kLossy includes kLossless.
enum class AdaptPolicy { kLossless, kLossy };

struct TensorRule {
  std::string name;
  std::size_t source = 0;  // inputs: index among the caller's tensors
  DType from = DType::kFloat32;
  DType to = DType::kFloat32;
  bool lossy = false;

  bool converts() const { return from != to; }
};

struct Adaptation {
  std::vector<TensorRule> inputs;   // in the model's order; `from` is the caller's dtype
  std::vector<TensorRule> outputs;  // in the model's order; `from` is the model's dtype

  bool converts() const;
};

// `caller` describes the caller's tensors by name (any order). Inputs whose dtype equals the
// model's pass; a conversion that loses nothing is done; one that loses is done under kLossy. With
// `float_outputs`, FLOAT16 and BFLOAT16 outputs come back as FLOAT32, which loses nothing.
// kInvalidArgument otherwise, naming both sides of every input at once: missing and surplus names,
// dtypes, shapes that cannot agree.
Result<Adaptation> plan_adaptation(const std::vector<TensorSpec>& caller, const Signature& model,
                                   AdaptPolicy policy, bool float_outputs);

// `caller`, which describes batches of `asked`, as it is in batches of `loaded`: backends may load
// another size than they are asked for. A dimension is the batch's when the model's fixed one
// differs from it by just this ratio.
std::vector<TensorSpec> in_loaded_batches(std::vector<TensorSpec> caller, const Signature& model,
                                          std::int64_t asked, std::int64_t loaded);

// What conversion cost, apart from the model's own time.
struct ConversionCounts {
  std::uint64_t calls = 0;
  std::uint64_t tensors = 0;    // converted
  std::uint64_t input_ns = 0;   // spent converting inputs
  std::uint64_t output_ns = 0;  // spent converting outputs
};

// A runtime seen through an adaptation: takes the caller's tensors, gives the caller's dtypes.
// Thread rule: one call at a time, whatever the runtime's own rule is; one per thread then.
class AdaptedRuntime {
 public:
  // `runtime` stays loaded with the model that `adaptation` was planned for, and outlives this.
  AdaptedRuntime(Runtime& runtime, Adaptation adaptation);
  ~AdaptedRuntime();
  AdaptedRuntime(const AdaptedRuntime&) = delete;
  AdaptedRuntime& operator=(const AdaptedRuntime&) = delete;

  // As Runtime::infer, in the caller's order and dtypes. kOutOfRange when an integer does
  // not fit, with its name. Scratch memory is kept from call to call.
  Status infer(std::span<const TensorView> inputs, OutputSink& outputs);

  // Makes room for inputs of these specs, so that not even the first call allocates for them.
  Status prepare(std::span<const TensorView> inputs);

  // Converts alone, so that a timed loop may run on what is returned: tensors in the model's order,
  // valid until the next call on this object.
  Result<std::span<const TensorView>> adapt_inputs(std::span<const TensorView> inputs);

  // What the caller gets: the model's outputs with the dtypes after conversion.
  const std::vector<TensorSpec>& output_specs() const;
  const ConversionCounts& counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::host
