#pragma once

// A plugin whose every answer a test decides, written straight on the C boundary so that it can
// break every rule. One at a time: Script::reset() makes a well-behaved one.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "assay/backend.h"

namespace assay::host::testing {

struct Script {
  using Infer = std::function<std::int32_t(const assay_infer_request&, assay_error*)>;

  static Script& get();
  static void reset();
  static std::int32_t entry(const assay_host* host, const assay_plugin** plugin,
                            assay_error* error);

  // The tables as the host gets them; a test may clear slots and lower sizes before opening.
  assay_compile_table compile{};
  assay_runtime_table runtime{};
  assay_plugin plugin{};

  std::int32_t entry_code = ASSAY_OK;
  bool give_plugin = true;
  std::int32_t code = ASSAY_OK;  // of create, load, close, recover
  std::string message = "as scripted";
  std::string text;  // what functions with a text sink write
  std::vector<std::int64_t> batch_sizes;
  bool write_batch_sizes = false;
  std::int64_t loaded_batch_size = 2;
  std::uint32_t thread_rule = ASSAY_THREADS_ONE_CALL;
  std::uint32_t max_in_flight = 0;
  std::function<void(const assay_signature_sink&)> describe;
  Infer infer;
  std::function<std::int32_t(const assay_submit_request&, assay_error*)> submit;
  std::function<void(const assay_load_request&)> on_load;
  std::function<void(const assay_compile_request&, assay_error*)> on_compile;
  std::vector<std::string> calls;  // create, destroy, close, ... in order
};

// x: FLOAT32 [?,3] -> y: FLOAT32 [?,3], the script's signature unless a test changes it.
void describe_xy(const assay_signature_sink& sink);

// Asks for y in the shape of x and copies x to it.
std::int32_t copy_x_to_y(const assay_infer_request& request, assay_error* error);

// A well-formed request for y with `rows` rows. `shape` must outlive it.
assay_tensor y_of(std::int64_t (&shape)[2], std::int64_t rows);

}  // namespace assay::host::testing
