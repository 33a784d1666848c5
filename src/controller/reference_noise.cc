#include "controller/reference_noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/cpus.h"
#include "base/file.h"
#include "base/hash.h"
#include "controller/declared_precision.h"
#include "controller/evaluation.h"
#include "controller/inference_pass.h"
#include "controller/journal.h"
#include "controller/steps.h"
#include "loadgen/random.h"
#include "workload/batch_sizes.h"
#include "workload/signature.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

// Bumped when a variation, or what is kept of it, changes.
constexpr const char* kNoiseVersion = "2";
// The largest of so few is what the allowance is for.
constexpr std::uint64_t kMostSamples = 128;
constexpr std::uint64_t kDraws = 2;

// A sum of n products, in any order and precision u, is the exact sum of products that are each off
// by about sqrt(n) u at most (Higham and Mary, SIAM J. Sci. Comput. 41 (2019) A2815). n = 1024 is a
// 3 x 3 convolution over 113 channels.
constexpr double kFloat32SumUnit = 0x1p-24 * 32;

// The reference model run in one way.
struct Variant {
  std::string name;
  std::vector<std::string> options;  // of the CPU backend, "name=value"
  std::int64_t batch_size = 1;
  std::optional<RoundingNoise> noise;
  const dataset::Dataset* dataset = nullptr;  // null: the chosen samples as they are
};

class NoiseMeasurement {
 public:
  NoiseMeasurement(const SessionSettings& settings, const NoiseRequest& request,
                   RunObserver& observer)
      : settings_(&settings),
        request_(&request),
        observer_(&observer),
        samples_(std::min(request.reference.samples, kMostSamples)),
        chosen_(evenly_chosen(*request.reference.dataset, request.reference.samples, samples_)) {}

  Result<std::vector<check::NoiseFloor>> run();

 private:
  Result<fs::path> outputs_of(const Variant& variant);
  Result<std::vector<check::NumericResult>> difference(const fs::path& base, const fs::path& moved);
  Result<std::vector<check::NumericResult>> moved_by(const Variant& variant, const fs::path& base);
  void add_variation(const std::string& name, const std::vector<check::NumericResult>& moved);
  Status check_repeatable(const fs::path& base);
  Status vary(const Variant& variant, const fs::path& base);
  Status draw_bound(const PrecisionNoise& precision, const fs::path& base);
  Variant unoptimised(std::string name, std::optional<RoundingNoise> noise) const;
  Result<std::optional<std::int64_t>> other_batch() const;

  const SessionSettings* settings_;
  const NoiseRequest* request_;
  RunObserver* observer_;
  std::uint64_t samples_;
  std::unique_ptr<dataset::Dataset> chosen_;
  int stores_ = 0;
  std::vector<check::NoiseFloor> floors_;
};

Variant NoiseMeasurement::unoptimised(std::string name, std::optional<RoundingNoise> noise) const {
  return {.name = std::move(name),
          .options = {"graph_optimization=none"},
          .batch_size = request_->reference.batch_size,
          .noise = noise};
}

// Another batch size than the request's; none where the model takes no other.
Result<std::optional<std::int64_t>> NoiseMeasurement::other_batch() const {
  const workload::ModelInfo& info = request_->reference.info;
  const Result<ModelFile> file = read_model(info.model_path, info.model_format);
  if (file.status().code() == StatusCode::kUnimplemented) {
    return unimplemented(fmt::format("it is measured on ONNX models, this one is of format \"{}\"",
                                     info.model_format));
  }
  RETURN_IF_ERROR(file.status());
  const std::optional<std::int64_t> fixed = workload::fixed_batch(info, file->signature);
  for (const std::int64_t size : {1, 4, 2}) {
    if (size == request_->reference.batch_size) continue;
    if (workload::why_not_batch(info, fixed, size).empty()) return std::optional(size);
  }
  return std::optional<std::int64_t>();
}

Result<fs::path> NoiseMeasurement::outputs_of(const Variant& variant) {
  observer_->stage("noise floor: " + variant.name);
  ReferenceRequest reference = request_->reference;
  const fs::path folder = request_->work_folder;
  if (variant.noise) {
    const fs::path copy = folder / "rounding.onnx";
    RETURN_IF_ERROR(
        write_with_rounding_noise(reference.info.model_path, copy, *variant.noise).status());
    reference.info.model_path = copy;
  }
  reference.work_folder = folder / "artifact";
  const fs::path store = folder / fmt::format("{}.outputs", stores_++);
  const PhaseRecord record = run_in_session(
      *settings_, reference.manifest, "noise-floor", [&](Session& session) -> Status {
        PassRequest pass;
        Reference ignored;
        ASSIGN_OR_RETURN(pass.model, compile_reference(session, reference, variant.options,
                                                       *observer_, ignored));
        pass.dataset = variant.dataset == nullptr ? chosen_.get() : variant.dataset;
        pass.samples = samples_;
        pass.batch_size = variant.batch_size;
        pass.batch_axes = reference.info.batch_axes;
        pass.store = store;
        pass.identity.dataset_hash = chosen_->fingerprint();
        return run_inference_pass(session, pass, *observer_).status();
      });
  if (!record.end.ok()) return unavailable(variant.name + ": " + record.end.reason);
  return store;
}

Result<std::vector<check::NumericResult>> NoiseMeasurement::moved_by(const Variant& variant,
                                                                     const fs::path& base) {
  ASSIGN_OR_RETURN(const fs::path moved, outputs_of(variant));
  Result<std::vector<check::NumericResult>> found = difference(base, moved);
  std::error_code ignored;
  fs::remove_all(moved, ignored);
  return found;
}

Result<std::vector<check::NumericResult>> NoiseMeasurement::difference(const fs::path& base,
                                                                       const fs::path& moved) {
  ASSIGN_OR_RETURN(check::NumericReport report,
                   compare_outputs(base, moved, {.ulp_distribution = false, .plots = false}));
  floors_.resize(report.outputs.size());
  for (std::size_t k = 0; k < floors_.size(); ++k) {
    floors_[k].output = report.outputs[k].output;
    floors_[k].samples = samples_;
  }
  return std::move(report.outputs);
}

check::NoiseVariation variation(const std::string& name, const check::NumericResult& result) {
  return {name, {result.max_abs.value_or(0.0), result.rmse.value_or(0.0)}};
}

// What differs without a change is no floor: a model that draws random numbers hides any error.
Status NoiseMeasurement::check_repeatable(const fs::path& base) {
  ASSIGN_OR_RETURN(const std::vector<check::NumericResult> again,
                   moved_by({.name = "again", .batch_size = request_->reference.batch_size}, base));
  for (const check::NumericResult& output : again) {
    if (output.identical) continue;
    return failed_precondition(fmt::format(
        "output \"{}\" of the reference differs from one run to the next: {} of {} values",
        output.output, output.differing + output.nonfinite_mismatches, output.elements));
  }
  return ok_status();
}

void NoiseMeasurement::add_variation(const std::string& name,
                                     const std::vector<check::NumericResult>& moved) {
  for (std::size_t k = 0; k < moved.size(); ++k) {
    floors_[k].variations.push_back(variation(name, moved[k]));
  }
}

Status NoiseMeasurement::vary(const Variant& variant, const fs::path& base) {
  ASSIGN_OR_RETURN(const std::vector<check::NumericResult> moved, moved_by(variant, base));
  add_variation(variant.name, moved);
  return ok_status();
}

Status NoiseMeasurement::draw_bound(const PrecisionNoise& precision, const fs::path& base) {
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    RoundingNoise noise = precision.noise;
    noise.seed = request_->seed + draw;
    const Variant variant = unoptimised(
        fmt::format("computing in {}, seed {}", precision.precision, noise.seed), noise);
    ASSIGN_OR_RETURN(const std::vector<check::NumericResult> moved, moved_by(variant, base));
    for (std::size_t k = 0; k < moved.size(); ++k) {
      if (!floors_[k].bound) floors_[k].bound = {precision.precision, {}};
      floors_[k].bound->draws.push_back(variation(variant.name, moved[k]));
    }
  }
  return ok_status();
}

Result<std::vector<check::NoiseFloor>> NoiseMeasurement::run() {
  const std::int64_t batch = request_->reference.batch_size;
  ASSIGN_OR_RETURN(const std::optional<std::int64_t> other, other_batch());
  const std::unique_ptr<dataset::Dataset> moved = moved_by_a_unit(*chosen_, request_->seed);
  ASSIGN_OR_RETURN(const fs::path base, outputs_of({.name = "as it is", .batch_size = batch}));
  RETURN_IF_ERROR(check_repeatable(base));
  const int threads = usable_cpus() > 1 ? 1 : 2;  // by default as many as CPUs
  RETURN_IF_ERROR(vary({fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"),
                        {fmt::format("intra_op_threads={}", threads)},
                        batch,
                        {},
                        nullptr},
                       base));
  if (other) {
    RETURN_IF_ERROR(vary({fmt::format("batch size {}", *other), {}, *other, {}, nullptr}, base));
  }
  if (moved) {
    const std::string name =
        fmt::format("inputs by a unit in the last place, seed {}", request_->seed);
    RETURN_IF_ERROR(vary({name, {}, batch, {}, moved.get()}, base));
  }
  const Variant not_optimised = unoptimised("graph not optimised", {});
  ASSIGN_OR_RETURN(const fs::path plain, outputs_of(not_optimised));
  if (!request_->quantized) {
    ASSIGN_OR_RETURN(const std::vector<check::NumericResult> moved_plain, difference(base, plain));
    add_variation(not_optimised.name, moved_plain);
  }
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const RoundingNoise noise{.seed = request_->seed + draw};
    RETURN_IF_ERROR(
        vary(unoptimised(fmt::format("rounding of FP32, seed {}", noise.seed), noise), plain));
  }
  if (const auto precision = noise_of_precision(request_->precision)) {
    RETURN_IF_ERROR(draw_bound(*precision, plain));
  }
  return std::move(floors_);
}

Result<std::vector<check::NoiseFloor>> read_cached(const fs::path& file) {
  ASSIGN_OR_RETURN(const std::string text, read_file(file));
  const Json json = Json::parse(text, nullptr, false);
  const Json list = json.is_object() ? json.value("floors", Json()) : Json();
  if (!list.is_array() || list.empty() || json.value("sha256", Json()) != sha256_hex(list.dump())) {
    return data_loss(quoted(file) + " is not what was written");
  }
  std::vector<check::NoiseFloor> floors;
  for (const Json& one : list) {
    ASSIGN_OR_RETURN(check::NoiseFloor floor, check::noise_floor_from_json(one));
    floors.push_back(std::move(floor));
  }
  return floors;
}

Status write_cached(const fs::path& file, const std::vector<check::NoiseFloor>& floors) {
  Json list = Json::array();
  for (const check::NoiseFloor& floor : floors) list.push_back(check::to_json(floor));
  return write_file_atomic(file,
                           Json{{"floors", list}, {"sha256", sha256_hex(list.dump())}}.dump());
}

std::string cache_key(const NoiseRequest& request) {
  const std::optional<PrecisionNoise> precision = noise_of_precision(request.precision);
  return key_of({kNoiseVersion, reference_key(request.reference), std::to_string(request.seed),
                 request.quantized ? "quantized" : "", precision ? precision->precision : "",
                 std::to_string(usable_cpus())});  // what the variation of threads depends on
}

// Sample i is the one at i / size() of the first `of`.
class EvenlyChosen final : public dataset::Dataset {
 public:
  EvenlyChosen(const dataset::Dataset& base, std::uint64_t of, std::uint64_t count)
      : Dataset(facts_of(base, of, count)), base_(&base), of_(of) {}

  std::string sample_id(std::size_t index) const override { return base_->sample_id(at(index)); }

 private:
  static dataset::DatasetFacts facts_of(const dataset::Dataset& base, std::uint64_t of,
                                        std::uint64_t count) {
    dataset::DatasetFacts facts = base.facts();
    facts.size = count;
    facts.fingerprint = key_of({base.fingerprint(), std::to_string(of), std::to_string(count)});
    return facts;
  }

  std::size_t at(std::size_t index) const { return index * of_ / size(); }

  Status read_sample(std::size_t index, std::span<const std::span<std::byte>> into) const override {
    return base_->read(at(index), into);
  }
  Result<dataset::Label> read_label(std::size_t index) const override {
    return base_->label(at(index));
  }

  const dataset::Dataset* base_;
  std::uint64_t of_;
};

// Elements a unit in the last place away.
class MovedDataset final : public dataset::Dataset {
 public:
  MovedDataset(const dataset::Dataset& base, std::uint64_t seed)
      : Dataset(base.facts()), base_(&base), seed_(seed) {}

  std::string sample_id(std::size_t index) const override { return base_->sample_id(index); }

 private:
  Status read_sample(std::size_t index, std::span<const std::span<std::byte>> into) const override {
    RETURN_IF_ERROR(base_->read(index, into));
    loadgen::Random random(seed_ + index);
    for (std::size_t i = 0; i < into.size(); ++i) {
      if (specs()[i].dtype != DType::kFloat32) continue;
      for (std::size_t at = 0; at + sizeof(float) <= into[i].size(); at += sizeof(float)) {
        move(into[i].subspan(at, sizeof(float)), random.next());
      }
    }
    return ok_status();
  }

  // Bits of a finite number one more or less are its neighbours'.
  static void move(std::span<std::byte> element, std::uint64_t draw) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, element.data(), sizeof bits);
    constexpr std::uint32_t kLargest = 0x7f7fffff;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude == 0 || magnitude >= kLargest) return;
    bits += (draw >> 63) != 0 ? 1U : ~0U;
    std::memcpy(element.data(), &bits, sizeof bits);
  }

  Result<dataset::Label> read_label(std::size_t index) const override {
    return base_->label(index);
  }

  const dataset::Dataset* base_;
  std::uint64_t seed_;
};

}  // namespace

Result<std::vector<check::NoiseFloor>> measure_noise(const SessionSettings& settings,
                                                     const NoiseRequest& request,
                                                     RunObserver& observer) {
  const fs::path file = request.reference.cache / (cache_key(request) + ".noise.json");
  if (Result<std::vector<check::NoiseFloor>> cached = read_cached(file); cached.ok()) return cached;
  RETURN_IF_ERROR(check_writable_folder(request.work_folder, 0));
  Result<std::vector<check::NoiseFloor>> floors =
      NoiseMeasurement(settings, request, observer).run();
  std::error_code ignored;
  fs::remove_all(request.work_folder, ignored);
  RETURN_IF_ERROR(floors.status());
  RETURN_IF_ERROR(write_cached(file, *floors));
  return floors;
}

std::optional<PrecisionNoise> noise_of_precision(std::string_view declared) {
  struct Row {
    std::string_view precision;
    double unit;
    NoiseScope scope = NoiseScope::kElement;
  };
  static constexpr std::array<Row, 5> kRows = {{{"INT8", kInt8Unit, NoiseScope::kTensor},
                                                {"FP8", kFloat8Unit},
                                                {"BF16", kBFloat16Unit},
                                                {"FP16", kFloat16Unit},
                                                {"FP32", kFloat32SumUnit}}};
  const auto* found = std::ranges::find(kRows, coarsest_precision(declared), &Row::precision);
  if (found == kRows.end()) return std::nullopt;
  return PrecisionNoise{std::string(found->precision),
                        {.unit = found->unit, .scope = found->scope, .weights = true}};
}

std::unique_ptr<dataset::Dataset> evenly_chosen(const dataset::Dataset& dataset, std::uint64_t of,
                                                std::uint64_t count) {
  return std::make_unique<EvenlyChosen>(dataset, of, count);
}

std::unique_ptr<dataset::Dataset> moved_by_a_unit(const dataset::Dataset& dataset,
                                                  std::uint64_t seed) {
  const bool any = std::ranges::any_of(
      dataset.specs(), [](const TensorSpec& spec) { return spec.dtype == DType::kFloat32; });
  return any ? std::make_unique<MovedDataset>(dataset, seed) : nullptr;
}

}  // namespace assay::controller
