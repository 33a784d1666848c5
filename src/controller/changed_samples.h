#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "check/pipeline_hypotheses.h"
#include "dataset/dataset.h"

namespace assay::controller {

// Some samples of a data set, once as each hypothesis would feed them: hypothesis h of sample
// `samples[i]` is sample h * samples.size() + i. No labels. `base` outlives it.
class ChangedSamples final : public dataset::Dataset {
 public:
  ChangedSamples(const dataset::Dataset& base, std::vector<std::size_t> samples,
                 std::vector<check::InputHypothesis> hypotheses);

  std::string sample_id(std::size_t index) const override;

 private:
  Status read_sample(std::size_t index, std::span<const std::span<std::byte>> into) const override;
  Result<dataset::Label> read_label(std::size_t index) const override;

  const dataset::Dataset* base_;
  std::vector<std::size_t> samples_;
  std::vector<check::InputHypothesis> hypotheses_;
};

}  // namespace assay::controller
