#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "check/output_store.h"
#include "check/outputs_match.h"
#include "controller/batch_splitter.h"
#include "controller/typed_object.h"
#include "worker/layout.h"

namespace assay::controller {

// Where the outputs of a round lie that a timed window kept, and which samples they are of.
struct KeptRound {
  const worker::ArenaLayout* layout = nullptr;
  std::span<std::byte> arena;
  std::span<const std::size_t> first_samples;  // of each input slot
  std::int64_t batch_size = 1;                 // as loaded
  const BatchSplitter* splitter = nullptr;
  std::uint64_t usable_samples = 0;  // of the data set: later rows of a batch are padding
};

// Holds outputs that timed windows kept against the accuracy run's. One thread at a time.
class KeptOutputs {
 public:
  // `store`: of the accuracy run.
  static Result<KeptOutputs> open(const std::filesystem::path& store,
                                  const check::MatchOptions& options);

  // `calls` are {input_slot, output_slot} as the worker names them. A call that failed left its
  // slot unwritten: it is counted elsewhere, and there is nothing to compare. kDataLoss for a slot
  // that does not exist.
  Status compare(const KeptRound& round, const std::vector<TypedObject>& calls);

  check::MatchResult finish() const { return match_.finish(); }

 private:
  KeptOutputs(check::OutputReader accuracy, check::OutputsMatch match)
      : accuracy_(std::move(accuracy)), match_(std::move(match)) {}

  Status compare_call(const KeptRound& round, std::size_t first_sample,
                      std::span<const std::byte> slot);

  check::OutputReader accuracy_;
  check::OutputsMatch match_;
};

}  // namespace assay::controller
