#include "workload/stability_budget.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace assay::workload {
namespace {

constexpr std::array<std::string_view, kStabilityAxes> kNames = {
    "repeat",     "handle",     "process",     "compilation", "position",
    "neighbours", "batch_size", "concurrency", "after_load"};

// 44 and 459 compilations find what happens in one of ten, one of a hundred, with a chance of 99 %:
// 1 - 0.9^44, 1 - 0.99^459. 10,001 calls see what changes after 10,000.
const StabilityBudget kQuick = {"quick", {200, 3, 2, 2, 32, 32, 8, 200, 200}, 10, 0.2};
const StabilityBudget kStandard = {
    "standard", {10'001, 20, 20, 44, 200, 200, 64, 10'001, 1'000}, 300, 3};
const StabilityBudget kDeep = {
    "deep", {1'000'000, 100, 100, 459, 10'000, 10'000, 1'000, 100'000, 10'000}, 7'200, 30};
constexpr std::uint64_t kMostUnits = 1'000'000'000;

Status refused(std::string_view text, const std::string& why) {
  return invalid_argument(
      fmt::format("--stability {}: {}; accepted: quick, standard, deep, or AXIS=N[,AXIS=N...] with "
                  "AXIS of {}",
                  text, why, fmt::join(kNames, ", ")));
}

Status read_axis(std::string_view text, std::string_view part, StabilityBudget& budget) {
  const std::size_t equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  const auto* const known = std::find(kNames.begin(), kNames.end(), name);
  if (known == kNames.end()) return refused(text, fmt::format("no axis \"{}\"", name));
  const std::string_view value = equals == part.npos ? "" : part.substr(equals + 1);
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (error != std::errc() || end != value.data() + value.size() || n == 0 || n > kMostUnits) {
    return refused(text, fmt::format("\"{}\" is not a whole number of 1 to {}", value, kMostUnits));
  }
  std::uint64_t& wanted = budget.n[static_cast<std::size_t>(known - kNames.begin())];
  if (wanted != 0) return refused(text, fmt::format("{} is named twice", name));
  wanted = n;
  return ok_status();
}

}  // namespace

std::string_view name_of(StabilityAxis axis) { return kNames[static_cast<std::size_t>(axis)]; }

Result<StabilityBudget> parse_stability_budget(std::string_view text) {
  for (const StabilityBudget* budget : {&kQuick, &kStandard, &kDeep}) {
    if (text == budget->text) return *budget;
  }
  StabilityBudget budget = kDeep;
  budget.text = text;
  budget.n = {};
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    RETURN_IF_ERROR(read_axis(text, rest.substr(0, comma), budget));
    if (comma == rest.npos) return budget;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace assay::workload
