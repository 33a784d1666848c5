#include "check/stability.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "check/elements.h"
#include "check/numeric.h"
#include "check/store_format.h"
#include "check/top_classes.h"

namespace assay::check {
namespace {

using Views = std::span<const TensorView>;

bool equal_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

bool equal(Views a, Views b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TensorView& x, const TensorView& y) {
                      return x.spec.shape == y.spec.shape && equal_bytes(x.bytes, y.bytes);
                    });
}

std::size_t rows_of(const TensorSpec& spec, std::int64_t rows) {
  const bool batched = !spec.shape.empty() && rows > 0 && spec.shape[0] % rows == 0;
  return batched ? static_cast<std::size_t>(rows) : 1;
}

TensorSpec row_spec(TensorSpec spec, std::size_t rows) {
  if (rows > 1) spec.shape[0] /= static_cast<std::int64_t>(rows);
  return spec;
}

// Whether an element that differs holds the bytes that the buffer was filled with. The row begins
// at `first_byte` of the output, and the filling at 0.
bool holds_poison(std::span<const std::byte> expected, std::span<const std::byte> got,
                  std::size_t element_bytes, std::size_t first_byte, std::uint64_t poison) {
  if (element_bytes == 0 || element_bytes > sizeof(poison)) return false;
  const auto* const filled = reinterpret_cast<const std::byte*>(&poison);
  for (std::size_t at = 0; at + element_bytes <= got.size(); at += element_bytes) {
    if (std::memcmp(got.data() + at, expected.data() + at, element_bytes) == 0) continue;
    const std::size_t phase = (first_byte + at) % sizeof(poison);
    if (std::memcmp(got.data() + at, filled + phase, element_bytes) == 0) return true;
  }
  return false;
}

}  // namespace

void CallDifferences::add(const CallDifferences& other) {
  if (other.first_differing && (!first_differing || *other.first_differing < *first_differing)) {
    first_differing = other.first_differing;
  }
  calls += other.calls;
  differing += other.differing;
  label_flips += other.label_flips;
  inputs_changed += other.inputs_changed;
  as_previous += other.as_previous;
  as_first += other.as_first;
  as_other += other.as_other;
  unwritten += other.unwritten;
  shape_changes += other.shape_changes;
  agreeing_after_first += other.agreeing_after_first;
  if (outputs.size() < other.outputs.size()) outputs.resize(other.outputs.size());
  for (std::size_t i = 0; i < other.outputs.size(); ++i) {
    outputs[i].max_abs = std::max(outputs[i].max_abs, other.outputs[i].max_abs);
    outputs[i].max_ulps = std::max(outputs[i].max_ulps, other.outputs[i].max_ulps);
    outputs[i].nonfinite += other.outputs[i].nonfinite;
  }
  const std::size_t room = kKeptRows - std::min(kKeptRows, rows.size());
  rows.insert(rows.end(), other.rows.begin(),
              other.rows.begin() + static_cast<std::ptrdiff_t>(std::min(room, other.rows.size())));
  if (call_crcs.empty()) call_crcs = other.call_crcs;
}

struct StabilityCounter::State {
  std::span<const std::vector<TensorView>> expected;
  std::int64_t rows = 1;
  std::int64_t class_output = -1;
  std::vector<NumericComparison> comparisons;  // one per output, of the rows that differ
  std::vector<double> scores, expected_scores;
  CallDifferences sums;

  void keep_crc(Views got) {
    if (sums.call_crcs.size() >= kKeptCrcs) return;
    std::uint32_t crc = 0;
    for (const TensorView& output : got) {
      const std::array<std::uint32_t, 2> link = {crc, crc32_of(output.bytes)};
      crc = crc32_of(std::as_bytes(std::span(link)));
    }
    sums.call_crcs.push_back(crc);
  }

  void count_pattern(const CallFacts& facts, Views got) {
    const auto is = [&](std::uint64_t slot) { return equal(expected[slot], got); };
    bool other = false;
    for (std::uint64_t slot = 0; slot < expected.size() && !other; ++slot) other = is(slot);
    if (!other) return;
    ++sums.as_other;
    if (is(facts.previous)) ++sums.as_previous;
    if (is(facts.first)) ++sums.as_first;
  }

  bool flips(const TensorView& wanted, const TensorView& got) {
    const std::size_t count = wanted.bytes.size() / size_of(wanted.spec.dtype);
    if (count == 0) return false;
    expected_scores.resize(count);
    scores.resize(count);
    load_doubles(wanted.spec.dtype, wanted.bytes, expected_scores.data());
    load_doubles(got.spec.dtype, got.bytes, scores.data());
    return top_classes(expected_scores, 1).classes[0] != top_classes(scores, 1).classes[0];
  }

  // The rows of one output that differ. True when an element was left unwritten.
  Result<bool> add_output(const CallFacts& facts, std::size_t k, const TensorView& got) {
    const TensorView& wanted = expected[facts.slot][k];
    const std::size_t count = rows_of(wanted.spec, rows);
    const std::size_t bytes = wanted.bytes.size() / count;
    bool unwritten = false;
    for (std::size_t row = 0; row < count; ++row) {
      const auto want = wanted.bytes.subspan(row * bytes, bytes);
      const auto have = got.bytes.subspan(row * bytes, bytes);
      if (equal_bytes(want, have)) continue;
      RETURN_IF_ERROR(comparisons[k].add(facts.call, want, have));
      unwritten |= holds_poison(want, have, size_of(wanted.spec.dtype), row * bytes, facts.poison);
      const bool scored = std::cmp_equal(k, class_output);
      if (scored && flips({wanted.spec, want}, {got.spec, have})) ++sums.label_flips;
      if (sums.rows.size() < kKeptRows) sums.rows.push_back({facts.call, facts.slot, row, k});
    }
    return unwritten;
  }

  Status add_differing(const CallFacts& facts, Views got) {
    ++sums.differing;
    if (!sums.first_differing) sums.first_differing = facts.call;
    const std::vector<TensorView>& wanted = expected[facts.slot];
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (got[k].spec.shape == wanted[k].spec.shape) continue;
      ++sums.shape_changes;
      return ok_status();
    }
    bool unwritten = false;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      ASSIGN_OR_RETURN(const bool found, add_output(facts, k, got[k]));
      unwritten |= found;
    }
    if (unwritten) ++sums.unwritten;
    count_pattern(facts, got);
    return ok_status();
  }
};

Result<StabilityCounter> StabilityCounter::create(std::span<const std::vector<TensorView>> expected,
                                                  std::int64_t rows, std::int64_t class_output) {
  if (expected.empty()) return invalid_argument("nothing is expected");
  auto state = std::make_unique<State>();
  state->expected = expected;
  state->rows = rows;
  state->class_output = class_output;
  for (const TensorView& output : expected.front()) {
    const TensorSpec spec = row_spec(output.spec, rows_of(output.spec, rows));
    ASSIGN_OR_RETURN(NumericComparison comparison,
                     NumericComparison::create(spec, spec, {.atol = 0, .rtol = 0}));
    state->comparisons.push_back(std::move(comparison));
  }
  return StabilityCounter(std::move(state));
}

StabilityCounter::StabilityCounter(std::unique_ptr<State> state) : state_(std::move(state)) {}
StabilityCounter::StabilityCounter(StabilityCounter&&) noexcept = default;
StabilityCounter& StabilityCounter::operator=(StabilityCounter&&) noexcept = default;
StabilityCounter::~StabilityCounter() = default;

Status StabilityCounter::add(const CallFacts& facts, std::span<const TensorView> got) {
  State& state = *state_;
  if (facts.slot >= state.expected.size() || facts.previous >= state.expected.size() ||
      facts.first >= state.expected.size()) {
    return out_of_range(fmt::format("slot {} of {}", facts.slot, state.expected.size()));
  }
  const std::vector<TensorView>& wanted = state.expected[facts.slot];
  if (got.size() != wanted.size()) {
    return invalid_argument(fmt::format("{} outputs, {} are expected", got.size(), wanted.size()));
  }
  ++state.sums.calls;
  if (facts.input_changed) ++state.sums.inputs_changed;
  state.keep_crc(got);
  if (!equal(wanted, got)) return state.add_differing(facts, got);
  if (state.sums.first_differing) ++state.sums.agreeing_after_first;
  return ok_status();
}

CallDifferences StabilityCounter::finish() const {
  CallDifferences sums = state_->sums;
  for (const NumericComparison& comparison : state_->comparisons) {
    const NumericResult result = comparison.finish();
    sums.outputs.push_back({result.max_abs.value_or(0.0), result.ulp ? result.ulp->max : 0.0,
                            result.nonfinite_mismatches});
  }
  return sums;
}

}  // namespace assay::check
