#include "controller/bisect_search.h"

#include <algorithm>
#include <array>

namespace assay::controller {
namespace {

constexpr std::array<const char*, 3> kOutcomes = {"within", "deviates", "unusable"};

// Indices of the open interval (low, high), the middle first and then outwards.
std::vector<std::ptrdiff_t> from_the_middle(std::ptrdiff_t low, std::ptrdiff_t high) {
  std::vector<std::ptrdiff_t> order;
  const std::ptrdiff_t middle = low + (high - low) / 2;
  for (std::ptrdiff_t step = 0; step < high - low; ++step) {
    if (middle - step > low) order.push_back(middle - step);
    if (step > 0 && middle + step < high) order.push_back(middle + step);
  }
  return order;
}

class PrefixSearch {
 public:
  PrefixSearch(const CutPlaces& places, const RangeOracle& ask) : places_(&places), ask_(&ask) {}

  Result<std::optional<FirstDeviation>> run() {
    std::ptrdiff_t low = -1;
    std::ptrdiff_t high = std::ssize(*places_) - 1;
    ASSIGN_OR_RETURN(const CutOutcome whole, ask(high));
    if (whole == CutOutcome::kWithin) return std::optional<FirstDeviation>();
    if (whole == CutOutcome::kUnusable) {
      return failed_precondition("the backend does not compile the whole model");
    }
    while (true) {
      ASSIGN_OR_RETURN(const bool narrowed, narrow(low, high));
      if (!narrowed) break;
    }
    found_.place = static_cast<std::size_t>(high);
    if (low >= 0) found_.last_within = static_cast<std::size_t>(low);
    std::ranges::sort(found_.unusable);
    return std::optional(found_);
  }

 private:
  Result<CutOutcome> ask(std::ptrdiff_t index) const {
    return (*ask_)(0, (*places_)[static_cast<std::size_t>(index)]);
  }

  // False when nothing between the two can be asked any more.
  Result<bool> narrow(std::ptrdiff_t& low, std::ptrdiff_t& high) {
    for (const std::ptrdiff_t index : from_the_middle(low, high)) {
      const std::int64_t place = (*places_)[static_cast<std::size_t>(index)];
      if (std::ranges::find(found_.unusable, place) != found_.unusable.end()) continue;
      ASSIGN_OR_RETURN(const CutOutcome seen, ask(index));
      if (seen == CutOutcome::kUnusable) {
        found_.unusable.push_back(place);
        continue;
      }
      (seen == CutOutcome::kDeviates ? high : low) = index;
      return true;
    }
    return false;
  }

  const CutPlaces* places_;
  const RangeOracle* ask_;
  FirstDeviation found_;
};

}  // namespace

const char* name_of(CutOutcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

Result<std::optional<FirstDeviation>> find_first_deviation(const CutPlaces& places,
                                                           const RangeOracle& ask) {
  return PrefixSearch(places, ask).run();
}

Result<std::size_t> find_range_start(const CutPlaces& places, std::size_t last,
                                     const RangeOracle& ask) {
  const auto deviates = [&](std::size_t start) -> Result<bool> {
    if (start == 0) return true;
    ASSIGN_OR_RETURN(const CutOutcome seen, ask(places[start], places[last]));
    return seen == CutOutcome::kDeviates;
  };
  std::size_t within = last + 1;
  std::size_t bad = last;
  for (std::size_t back = 1;; back = 2 * back + 1) {
    ASSIGN_OR_RETURN(const bool found, deviates(bad));
    if (found) break;
    within = bad;
    bad = last - std::min(back, last);
  }
  while (within - bad > 1) {
    const std::size_t middle = bad + (within - bad) / 2;
    ASSIGN_OR_RETURN(const bool found, deviates(middle));
    (found ? bad : within) = middle;
  }
  return bad;
}

}  // namespace assay::controller
