#pragma once

// Internal to the room: the outputs of one call while it runs.

#include <cstdint>
#include <string_view>

#include "host/runtime_backend.h"
#include "host/tensor_check.h"

namespace assay::host {

// What both kinds of call need to know about the loaded model. Outlives them.
struct CallContext {
  std::string_view backend;  // for messages
  const std::vector<TensorSpec>* outputs;
};

// Answers alloc_output for one call and judges it at the end. alloc_output is called by one thread
// at a time; on success neither it nor finish() allocates.
class OutputCall {
 public:
  OutputCall(const CallContext& context, OutputSink& outputs);
  OutputCall(const OutputCall&) = delete;
  OutputCall& operator=(const OutputCall&) = delete;

  const assay_output_sink* sink() const { return &sink_; }

  // The call's Status, given what the backend returned: the first violation of the boundary, else
  // the backend's failure, else an output that was never given.
  Status finish(std::int32_t code, const char* message, std::string_view what);

 private:
  static std::int32_t alloc_output(void* self, std::uint32_t index, assay_tensor* output,
                                   assay_error* error);
  Status allocate(std::uint32_t index, assay_tensor& output);
  Status missing_output();

  CallContext context_;
  OutputSink* outputs_;
  assay_output_sink sink_;
  std::size_t given_count_ = 0;
  InlineArray<std::uint8_t> given_;
  Status violation_;
};

}  // namespace assay::host
