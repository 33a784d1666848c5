#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/library.h"
#include "host/runtime.h"
#include "host/runtime_backend.h"

namespace assay::host {

// One segment of a compiled model, and who runs it.
struct StageRequest {
  std::int64_t segment = 0;  // its sg_idx
  bool is_fallback = false;  // its library is not the one that compiled the model
  Library library;
  LoadRequest load;  // its compile result has this segment alone
};

// What ran a segment, and how much of the work that was.
struct StageUse {
  std::int64_t segment = 0;
  bool is_fallback = false;
  std::string version;      // of the runtime
  std::uint64_t calls = 0;  // that succeeded
  std::int64_t wall_ns = 0;
};

// A model in several segments, run one behind the other: each by a runtime of its own, tensors
// handed on by name. An output of the model is written where the caller wants it, even when later
// segments read it too; the others have buffers that are kept from call to call. A dtype that the
// next segment does not take is converted where that loses nothing. Every message names the
// segment.
//
// Thread rule: as Runtime says, with the strictest rule of its segments. A call takes one lock for
// as long as it takes to find free buffers.
class Pipeline final : public Runtime {
 public:
  // Loads every stage, in this order. `inputs` and `outputs` are the model's. Besides what a
  // runtime says of its load: kInternal when what the segments really take and give does not fit
  // together (a tensor that nobody gives, dtypes, shapes, loaded batch sizes), with both sides.
  static Result<std::unique_ptr<Pipeline>> load(std::vector<StageRequest> stages,
                                                const std::vector<std::string>& inputs,
                                                const std::vector<std::string>& outputs);
  ~Pipeline() override;

  std::int64_t loaded_batch_size() const override;
  const Signature& signature() const override;
  ThreadRule thread_rule() const override;
  Status infer(std::span<const TensorView> inputs, OutputSink& outputs) override;

  // Since load, in the order of the stages. Not while infer runs.
  std::vector<StageUse> use() const;

  // Closes every stage, the last one first; the first failure is told. Only destruction follows.
  Status close();

 private:
  struct Plan;
  struct Flow;
  explicit Pipeline(std::unique_ptr<Plan> plan);

  std::unique_ptr<Plan> plan_;
};

}  // namespace assay::host
