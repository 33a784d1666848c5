#include "dataset/generated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/hash.h"
#include "tensor/convert.h"

namespace assay::dataset {
namespace {

constexpr std::string_view kVersion = "generated/1";

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): SplitMix64 as a
// function of its counter, so that any element can be made without the ones before it.
constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ULL;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::uint64_t keyed(std::uint64_t key, std::uint64_t counter) {
  return mix(key + (counter + 1) * kGoldenGamma);
}

// In [0, 1), a multiple of 2^-24, so that binary32 holds it without rounding up to 1.
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 40) * 0x1.0p-24; }

// How one input's elements are drawn, its dtype apart.
enum class Draw : std::uint8_t { kUniform, kWhole, kOnes, kZeros };

struct InputPlan {
  TensorSpec spec;
  Draw draw = Draw::kUniform;
  double low = 0.0;
  double high = 1.0;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

InputPlan default_plan(TensorSpec spec) {
  InputPlan plan{std::move(spec), Draw::kUniform, 0.0, 1.0};
  const std::string_view name = plan.spec.name;
  if (is_floating(plan.spec.dtype)) return plan;
  if (contains(name, "mask")) {
    plan.draw = Draw::kOnes;
  } else if (contains(name, "token_type") || contains(name, "segment")) {
    plan.draw = Draw::kZeros;
  } else {
    plan.draw = Draw::kWhole;
    plan.high = plan.spec.dtype == DType::kBool ? 1.0 : 9.0;
  }
  return plan;
}

// The values that a generated element of an integer dtype may take, as whole doubles.
std::pair<double, double> limits_of(DType dtype) {
  constexpr double kExact = 0x1.0p53;  // whole numbers that a double holds
  switch (dtype) {
    case DType::kBool:
      return {0.0, 1.0};
    case DType::kInt8:
      return {-128.0, 127.0};
    case DType::kUInt8:
      return {0.0, 255.0};
    case DType::kInt16:
      return {-32768.0, 32767.0};
    case DType::kUInt16:
      return {0.0, 65535.0};
    case DType::kInt32:
      return {-2147483648.0, 2147483647.0};
    case DType::kUInt32:
      return {0.0, 4294967295.0};
    case DType::kUInt64:
      return {0.0, kExact};
    default:
      return {-kExact, kExact};
  }
}

Status apply_range(const InputRange& range, InputPlan& plan) {
  const bool is_whole = !is_floating(plan.spec.dtype);
  const auto [least, most] = limits_of(plan.spec.dtype);
  const bool ordered =
      std::isfinite(range.low) && std::isfinite(range.high) && range.low <= range.high;
  const bool fits =
      !is_whole || (range.low >= least && range.high <= most &&
                    range.low == std::trunc(range.low) && range.high == std::trunc(range.high));
  if (!ordered || !fits || plan.spec.dtype == DType::kFloat8E4M3) {
    return invalid_argument(fmt::format("range {}..{} is not one of input {}", range.low,
                                        range.high, to_string(plan.spec)));
  }
  plan.low = range.low;
  plan.high = range.high;
  // A mask of random ones and zeros is no mask: ones stay ones where the range allows it.
  if (plan.draw == Draw::kOnes && range.low <= 1.0 && range.high >= 1.0) return ok_status();
  if (plan.draw == Draw::kZeros && range.low <= 0.0 && range.high >= 0.0) return ok_status();
  plan.draw = is_whole ? Draw::kWhole : Draw::kUniform;
  return ok_status();
}

std::int64_t whole_value(const InputPlan& plan, std::uint64_t bits) {
  if (plan.draw == Draw::kOnes) return 1;
  if (plan.draw == Draw::kZeros) return 0;
  const auto low = static_cast<std::int64_t>(plan.low);
  const auto span = static_cast<std::uint64_t>(static_cast<std::int64_t>(plan.high) - low) + 1;
  return low + static_cast<std::int64_t>(bits % span);
}

template <typename T>
void store(T value, std::byte* into) {
  std::memcpy(into, &value, sizeof(value));
}

void store_floating(double value, DType dtype, std::byte* into) {
  const auto single = static_cast<float>(value);
  if (dtype == DType::kFloat64) return store(value, into);
  if (dtype == DType::kFloat32) return store(single, into);
  if (dtype == DType::kFloat16) return store(float_to_half(single), into);
  return store(float_to_bfloat16(single), into);
}

// The low bytes of two's complement, least significant first, are the value in any narrower width.
void store_whole(std::int64_t value, std::size_t size, std::byte* into) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < size; ++i) into[i] = static_cast<std::byte>(bits >> (8 * i));
}

void fill(const InputPlan& plan, std::uint64_t key, std::span<std::byte> into) {
  // E4M3 bit patterns below 0x38, which is 1.0, are the values of [0, 1).
  constexpr std::uint64_t kE4M3One = 0x38;
  const DType dtype = plan.spec.dtype;
  const std::size_t item = size_of(dtype);
  for (std::size_t i = 0; i * item < into.size(); ++i) {
    const std::uint64_t bits = keyed(key, i);
    std::byte* const element = into.data() + i * item;
    if (dtype == DType::kFloat8E4M3) {
      store_whole(static_cast<std::int64_t>(bits % kE4M3One), item, element);
    } else if (is_floating(dtype)) {
      const double value = plan.low + (plan.high - plan.low) * unit(bits);
      store_floating(value, dtype, element);
    } else {
      store_whole(whole_value(plan, bits), item, element);
    }
  }
}

class Generated final : public Dataset {
 public:
  Generated(DatasetFacts facts, std::vector<InputPlan> plans, std::uint64_t seed)
      : Dataset(std::move(facts)), plans_(std::move(plans)), seed_(seed) {}

  std::string sample_id(std::size_t index) const override {
    return fmt::format("generated-{:05}", index);
  }

 private:
  Status read_sample(std::size_t index, std::span<const std::span<std::byte>> into) const override {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      fill(plans_[i], keyed(keyed(seed_, index), i), into[i]);
    }
    return ok_status();
  }

  Result<Label> read_label(std::size_t) const override { return Label(); }

  std::vector<InputPlan> plans_;
  std::uint64_t seed_;
};

std::string fingerprint_of(const std::vector<InputPlan>& plans, std::uint64_t seed,
                           std::size_t samples) {
  std::string text = fmt::format("{} seed={} samples={}\n", kVersion, seed, samples);
  for (const InputPlan& plan : plans) {
    text += fmt::format("{} draw={} low={} high={}\n", to_string(plan.spec),
                        static_cast<int>(plan.draw), plan.low, plan.high);
  }
  return sha256_hex(text);
}

}  // namespace

Result<std::unique_ptr<Dataset>> make_generated(const GeneratedOptions& options) {
  if (options.samples == 0) return failed_precondition("no samples: generated data of 0 samples");
  std::vector<InputPlan> plans;
  std::vector<TensorSpec> specs;
  for (TensorSpec spec : options.inputs) {
    for (std::int64_t& side : spec.shape) side = std::max<std::int64_t>(side, side < 0 ? 1 : side);
    RETURN_IF_ERROR(byte_size(spec).status());
    specs.push_back(spec);
    plans.push_back(default_plan(std::move(spec)));
  }
  for (const InputRange& range : options.ranges) {
    const auto plan = std::ranges::find_if(
        plans, [&](const InputPlan& each) { return each.spec.name == range.input; });
    if (plan == plans.end()) {
      return invalid_argument(
          fmt::format("a range is given for \"{}\", which is no input", range.input));
    }
    RETURN_IF_ERROR(apply_range(range, *plan));
  }
  std::string fingerprint = fingerprint_of(plans, options.seed, options.samples);
  DatasetFacts facts{options.name, options.samples, std::move(specs), 0, std::move(fingerprint)};
  return std::unique_ptr<Dataset>(
      std::make_unique<Generated>(std::move(facts), std::move(plans), options.seed));
}

}  // namespace assay::dataset
