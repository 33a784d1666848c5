// Fuzz entry: the record is written by the process that holds a foreign backend.

#include <cstddef>
#include <cstdint>
#include <span>

#include "loadgen/record.h"
#include "loadgen/row.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay::loadgen;
  const auto bytes = std::as_bytes(std::span(data, size));
  const assay::Result<RecordView> view = parse(bytes);
  if (!view.ok()) return 0;
  RowInput input;
  input.clients = view->shape.clients;
  input.backend_instances = 1;
  input.rounds.push_back({*view, {}, {}});
  (void)summarize(input);
  return 0;
}
