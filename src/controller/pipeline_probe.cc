#include "controller/pipeline_probe.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "controller/changed_samples.h"
#include "controller/inference_pass.h"
#include "controller/pipeline_answers.h"
#include "controller/steps.h"
#include "dataset/preprocess.h"
#include "dataset/text_role.h"
#include "loadgen/random.h"

namespace assay::controller {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSamples = 32;
constexpr std::size_t kMostValues = std::size_t{1} << 22;  // held of one hypothesis
// Of two hypotheses whose rests are so near, the simpler one is taken: grey pictures look the same
// with channels swapped.
constexpr double kAlike = 0.02;

// One search: what the backend gave, and what each hypothesis predicts.
class Probe {
 public:
  Probe(const PipelineProbeRequest& request, RunObserver& observer)
      : request_(&request), observer_(&observer) {}

  Status read();
  bool worthwhile() const {
    return check::deviates(probe_.untouched) && can_tell(outputs_, samples_.size());
  }
  Status try_outputs();
  Status try_inputs(Session& session, const std::vector<check::InputHypothesis>& hypotheses);
  std::vector<check::InputHypothesis> input_hypotheses() const;
  void add_refused(const check::InputHypothesis& hypothesis);
  PipelineProbe finish();

 private:
  std::size_t sample_count() const;
  void choose_samples();
  std::int64_t batch_size() const;
  Result<std::vector<check::Fit>> fits(const std::vector<check::Answers>& predicted) const;
  void add(std::string name, std::string sentence, check::Fit before, check::Fit after);

  const PipelineProbeRequest* request_;
  RunObserver* observer_;
  ProbedOutputs outputs_;
  std::vector<std::size_t> samples_;
  std::vector<check::Answers> reference_;
  std::vector<check::Answers> got_;
  PipelineProbe probe_;
};

std::size_t Probe::sample_count() const {
  const std::size_t affordable = kMostValues / std::max<std::size_t>(outputs_.values, 1);
  const std::size_t wanted = std::clamp<std::size_t>(affordable, 2, kSamples);
  return std::min(wanted, static_cast<std::size_t>(request_->reference.samples));
}

// The worst samples, then others by the seed.
void Probe::choose_samples() {
  const std::size_t count = sample_count();
  std::vector<std::size_t> order(request_->reference.samples);
  std::iota(order.begin(), order.end(), std::size_t{0});
  loadgen::Random random(request_->seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  const auto take = [&](std::size_t sample) {
    const bool known = std::find(samples_.begin(), samples_.end(), sample) != samples_.end();
    if (!known && samples_.size() < count && sample < order.size()) samples_.push_back(sample);
  };
  for (const std::uint64_t sample : request_->worst_samples) {
    if (samples_.size() < count / 4) take(sample);
  }
  for (const std::size_t sample : order) take(sample);
}

Status Probe::read() {
  ASSIGN_OR_RETURN(outputs_, probed_outputs(request_->reference_store, request_->tested_store,
                                            request_->metric));
  if (outputs_.specs.empty()) return ok_status();
  choose_samples();
  probe_.samples = samples_.size();
  ASSIGN_OR_RETURN(reference_, read_answers(request_->reference_store, outputs_, samples_));
  ASSIGN_OR_RETURN(got_, read_answers(request_->tested_store, outputs_, samples_));
  ASSIGN_OR_RETURN(const std::vector<check::Fit> each, fits(reference_));
  probe_.untouched = check::joined(each);
  return ok_status();
}

Result<std::vector<check::Fit>> Probe::fits(const std::vector<check::Answers>& predicted) const {
  std::vector<check::Fit> list;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    ASSIGN_OR_RETURN(check::Fit fit, check::fit_of(predicted[i], got_[i], outputs_.scores == i));
    list.push_back(std::move(fit));
  }
  return list;
}

void Probe::add(std::string name, std::string sentence, check::Fit before, check::Fit after) {
  const check::Restoration restoration = check::restoration(before, after);
  probe_.tried.push_back(
      {std::move(name), std::move(sentence), std::move(before), std::move(after), restoration});
}

Status Probe::try_outputs() {
  if (!outputs_.scores) return ok_status();
  const check::Answers& reference = reference_[*outputs_.scores];
  const check::Answers& got = got_[*outputs_.scores];
  ASSIGN_OR_RETURN(const check::Fit before, check::fit_of(reference, got, true));
  const check::RowValues values = row_values(reference, request_->metric);
  for (const check::OutputHypothesis& each : check::output_hypotheses(reference.width, values)) {
    const check::Answers predicted = predicted_answers(reference, each);
    ASSIGN_OR_RETURN(check::Fit after,
                     each.without_offset
                         ? check::fit_of(without_offset(predicted), without_offset(got), true)
                         : check::fit_of(predicted, got, true));
    add(each.name, each.sentence, before, std::move(after));
  }
  return ok_status();
}

// The largest size of the run that the samples fill, else its smallest.
std::int64_t Probe::batch_size() const {
  std::int64_t fitting = 0;
  for (const std::int64_t size : request_->batch_sizes) {
    if (size <= static_cast<std::int64_t>(samples_.size())) fitting = std::max(fitting, size);
  }
  return fitting > 0 ? fitting : *std::ranges::min_element(request_->batch_sizes);
}

Status Probe::try_inputs(Session& session, const std::vector<check::InputHypothesis>& hypotheses) {
  if (hypotheses.empty()) return ok_status();
  const ChangedSamples changed(*request_->reference.dataset, samples_, hypotheses);
  PassRequest pass;
  Reference ignored;
  ASSIGN_OR_RETURN(pass.model,
                   compile_reference(session, request_->reference, {}, *observer_, ignored));
  pass.dataset = &changed;
  pass.samples = changed.size();
  pass.batch_size = batch_size();
  pass.batch_axes = request_->reference.info.batch_axes;
  pass.store = request_->reference.work_folder / "changed.outputs";
  pass.identity.dataset_hash = changed.fingerprint();
  RETURN_IF_ERROR(run_inference_pass(session, pass, *observer_).status());
  for (std::size_t h = 0; h < hypotheses.size(); ++h) {
    std::vector<std::size_t> rows(samples_.size());
    std::iota(rows.begin(), rows.end(), h * samples_.size());
    ASSIGN_OR_RETURN(const std::vector<check::Answers> predicted,
                     read_answers(pass.store, outputs_, rows));
    ASSIGN_OR_RETURN(const std::vector<check::Fit> each, fits(predicted));
    add(hypotheses[h].name, hypotheses[h].sentence, probe_.untouched, check::joined(each));
  }
  return ok_status();
}

std::vector<check::InputHypothesis> Probe::input_hypotheses() const {
  return check::input_hypotheses(pipeline_facts(request_->info, *request_->reference.dataset));
}

// The model may refuse what a wrong pipeline would feed it: a token beyond its table.
void Probe::add_refused(const check::InputHypothesis& hypothesis) {
  probe_.tried.push_back({hypothesis.name, hypothesis.sentence, probe_.untouched, {}, {}});
}

PipelineProbe Probe::finish() {
  const auto better = [&](std::size_t i, const std::optional<std::size_t>& than) {
    const std::optional<double> left = probe_.tried[i].left();
    if (!left) return false;
    return !than || *left < *probe_.tried[*than].left() - kAlike;
  };
  for (std::size_t i = 0; i < probe_.tried.size(); ++i) {
    if (probe_.tried[i].restoration.restores && better(i, probe_.named)) probe_.named = i;
  }
  for (std::size_t i = 0; i < probe_.tried.size(); ++i) {
    if (i != probe_.named && better(i, probe_.next)) probe_.next = i;
  }
  return std::move(probe_);
}

std::optional<check::PictureFacts> picture_facts(const workload::ModelInfo& info,
                                                 const dataset::Preprocess& preprocess) {
  if (const auto* steps = std::get_if<dataset::ImagePreprocess>(&preprocess)) {
    check::PictureFacts facts;
    facts.channels_first = steps->layout == dataset::Layout::kNchw;
    facts.mean.assign(steps->mean.begin(), steps->mean.end());
    facts.scale.assign(steps->scale.begin(), steps->scale.end());
    facts.saturates = info.is_quantized;
    return facts;
  }
  if (info.layout != "NCHW" && info.layout != "NHWC") return std::nullopt;
  check::PictureFacts facts;
  facts.channels_first = info.layout == "NCHW";
  return facts;
}

std::optional<check::TextFacts> text_facts(std::span<const TensorSpec> inputs) {
  std::optional<std::size_t> ids;
  check::TextFacts facts;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Result<dataset::TextRole> role = dataset::text_role(inputs[i]);
    if (!role.ok()) continue;
    if (*role == dataset::TextRole::kIds) ids = i;
    if (*role == dataset::TextRole::kMask) facts.mask = i;
    if (*role == dataset::TextRole::kSegments) facts.segments = i;
  }
  if (!ids) return std::nullopt;
  facts.ids = *ids;
  return facts;
}

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

std::optional<double> TriedHypothesis::left() const {
  if (!before.difference || !after.difference || *before.difference == 0) return std::nullopt;
  return *after.difference / *before.difference;
}

check::PipelineFacts pipeline_facts(const workload::ModelInfo& info,
                                    const dataset::Dataset& dataset) {
  check::PipelineFacts facts;
  facts.inputs.assign(dataset.specs().begin(), dataset.specs().end());
  const Result<dataset::Preprocess> parsed = dataset::parse_preprocess(info.preprocess.get());
  const dataset::Preprocess preprocess = parsed.ok() ? *parsed : dataset::Preprocess();
  if (std::holds_alternative<dataset::TextPreprocess>(preprocess)) {
    facts.text = text_facts(dataset.specs());
  } else {
    facts.picture = picture_facts(info, preprocess);
  }
  return facts;
}

namespace {

// All hypotheses in one worker; each in one of its own when one of them fails that.
PhaseRecord try_all(const SessionSettings& settings, const PipelineProbeRequest& request,
                    Probe& probe) {
  const auto try_some = [&](const std::vector<check::InputHypothesis>& some) {
    return run_in_session(settings, request.reference.manifest, "pipeline",
                          [&](Session& session) { return probe.try_inputs(session, some); });
  };
  const std::vector<check::InputHypothesis> hypotheses = probe.input_hypotheses();
  if (const Status status = probe.try_outputs(); !status.ok()) {
    PhaseRecord record;
    record.name = "pipeline";
    record.end = {worker::Outcome::kFailed, status.to_string()};
    return record;
  }
  PhaseRecord record = try_some(hypotheses);
  if (record.end.ok() || hypotheses.size() < 2) return record;
  PhaseRecord last;
  for (const check::InputHypothesis& each : hypotheses) {
    if (settings.stop != nullptr && *settings.stop) return record;
    last = try_some({each});
    if (!last.end.ok()) probe.add_refused(each);
  }
  last.end = {};
  return last;
}

}  // namespace

PhaseResult<PipelineProbe> probe_pipeline(const SessionSettings& settings,
                                          const PipelineProbeRequest& request,
                                          RunObserver& observer) {
  PhaseResult<PipelineProbe> result;
  result.record.name = "pipeline";
  Probe probe(request, observer);
  if (const Status status = probe.read(); !status.ok()) {
    result.record.end = {worker::Outcome::kFailed, status.to_string()};
    return result;
  }
  if (probe.worthwhile()) {
    result.record = try_all(settings, request, probe);
    std::error_code ignored;
    fs::remove_all(request.reference.work_folder, ignored);
  }
  result.value = probe.finish();
  return result;
}

Json to_json(const PipelineProbe& probe) {
  Json tried = Json::array();
  for (const TriedHypothesis& each : probe.tried) {
    tried.push_back({{"name", each.name},
                     {"sentence", each.sentence},
                     {"difference_before", number_or_null(each.before.difference)},
                     {"difference_after", number_or_null(each.after.difference)},
                     {"nearer_samples", each.restoration.nearer},
                     {"top1_agreement_before", number_or_null(each.before.top1_agreement)},
                     {"top1_agreement_after", number_or_null(each.after.top1_agreement)},
                     {"restores", each.restoration.restores}});
  }
  const auto name_of = [&](const std::optional<std::size_t>& index) {
    return index ? Json(probe.tried[*index].name) : Json();
  };
  return {{"samples", probe.samples},
          {"difference", number_or_null(probe.untouched.difference)},
          {"deviates", check::deviates(probe.untouched)},
          {"looks_like", name_of(probe.named)},
          {"sentence", probe.named ? Json(probe.tried[*probe.named].sentence) : Json()},
          {"runner_up", name_of(probe.next)},
          {"hypotheses", tried}};
}

}  // namespace assay::controller
