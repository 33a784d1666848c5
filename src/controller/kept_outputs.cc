#include "controller/kept_outputs.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>

namespace assay::controller {
namespace {

// A call's slot is cleared before it, and every output of a call that succeeds has its record.
bool is_written(const worker::ArenaLayout& layout, std::span<const std::byte> slot) {
  for (std::size_t i = 0; i < layout.outputs.size(); ++i) {
    worker::OutputRecord record;
    std::memcpy(&record, slot.data() + i * sizeof(record), sizeof(record));
    if (record.present != 1) return false;
  }
  return true;
}

std::string texts(const std::vector<TensorSpec>& specs) {
  std::string all;
  for (const TensorSpec& spec : specs) all += (all.empty() ? "" : ", ") + to_string(spec);
  return all.empty() ? "none" : all;
}

Result<std::size_t> slot_of(const TypedObject& call, const char* key, std::size_t slots) {
  ASSIGN_OR_RETURN(const std::uint64_t slot, call.count(key));
  if (slot >= slots) {
    return data_loss(fmt::format("the worker kept {} {}, there are {}", key, slot, slots));
  }
  return static_cast<std::size_t>(slot);
}

}  // namespace

Result<KeptOutputs> KeptOutputs::open(const std::filesystem::path& store,
                                      const check::MatchOptions& options) {
  ASSIGN_OR_RETURN(check::OutputReader reader, check::OutputReader::open(store));
  ASSIGN_OR_RETURN(check::OutputsMatch match,
                   check::OutputsMatch::create(reader.outputs(), options));
  return KeptOutputs(std::move(reader), std::move(match));
}

Status KeptOutputs::compare(const KeptRound& round, const std::vector<TypedObject>& calls) {
  for (const TypedObject& call : calls) {
    ASSIGN_OR_RETURN(const std::size_t input,
                     slot_of(call, "input_slot", round.first_samples.size()));
    ASSIGN_OR_RETURN(const std::size_t output,
                     slot_of(call, "output_slot", round.layout->output_slots));
    const auto slot = worker::output_slot(*round.layout, round.arena, output);
    if (!is_written(*round.layout, slot)) continue;
    RETURN_IF_ERROR(compare_call(round, round.first_samples[input], slot));
  }
  return ok_status();
}

Status KeptOutputs::compare_call(const KeptRound& round, std::size_t first_sample,
                                 std::span<const std::byte> slot) {
  ASSIGN_OR_RETURN(const std::vector<TensorView> outputs,
                   worker::read_output_slot(*round.layout, slot));
  ASSIGN_OR_RETURN(const std::vector<TensorSpec> specs, round.splitter->sample_specs(outputs));
  if (specs != accuracy_.outputs()) {
    return failed_precondition(fmt::format("a sample's outputs are {} here, {} in the accuracy run",
                                           texts(specs), texts(accuracy_.outputs())));
  }
  const auto batch = static_cast<std::size_t>(round.batch_size);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    for (std::size_t i = 0; i < batch && first_sample + i < round.usable_samples; ++i) {
      ASSIGN_OR_RETURN(const auto wanted, accuracy_.output(first_sample + i, k));
      RETURN_IF_ERROR(match_.add(first_sample + i, k, wanted, round.splitter->row(outputs[k], i)));
    }
  }
  return ok_status();
}

}  // namespace assay::controller
