#include "controller/changed_samples.h"

#include <fmt/format.h>

#include <utility>

#include "controller/journal.h"

namespace assay::controller {
namespace {

dataset::DatasetFacts changed_facts(const dataset::Dataset& base,
                                    const std::vector<std::size_t>& samples,
                                    const std::vector<check::InputHypothesis>& hypotheses) {
  std::vector<std::string> parts = {base.fingerprint()};
  for (const std::size_t sample : samples) parts.push_back(std::to_string(sample));
  for (const check::InputHypothesis& hypothesis : hypotheses) parts.push_back(hypothesis.name);
  dataset::DatasetFacts facts = base.facts();
  facts.size = samples.size() * hypotheses.size();
  facts.class_count = 0;
  facts.fingerprint = key_of(parts);
  return facts;
}

}  // namespace

ChangedSamples::ChangedSamples(const dataset::Dataset& base, std::vector<std::size_t> samples,
                               std::vector<check::InputHypothesis> hypotheses)
    : Dataset(changed_facts(base, samples, hypotheses)),
      base_(&base),
      samples_(std::move(samples)),
      hypotheses_(std::move(hypotheses)) {}

std::string ChangedSamples::sample_id(std::size_t index) const {
  return fmt::format("{} as {}", base_->sample_id(samples_[index % samples_.size()]),
                     hypotheses_[index / samples_.size()].name);
}

Status ChangedSamples::read_sample(std::size_t index,
                                   std::span<const std::span<std::byte>> into) const {
  RETURN_IF_ERROR(base_->read(samples_[index % samples_.size()], into));
  return hypotheses_[index / samples_.size()].change(into);
}

Result<dataset::Label> ChangedSamples::read_label(std::size_t /*index*/) const {
  return dataset::Label();
}

}  // namespace assay::controller
