#include "base/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace assay {
namespace {

char folded(char c) {
  if (c == '-') return '_';
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Optimal string alignment: Levenshtein's distance in which two neighbours that changed places are
// one slip. Case and the two spellings of a dash count as equal.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> above(b.size() + 1);  // of the row before, and of the one before that
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  const auto same = [&](std::size_t i, std::size_t j) { return folded(a[i]) == folded(b[j]); };
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = above[j - 1] + (same(i - 1, j - 1) ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates,
                                 std::size_t most) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    const std::size_t limit = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (distance <= limit) near.emplace_back(distance, candidate);
  }
  std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string>::first);
  near.resize(std::min(near.size(), most));
  std::vector<std::string> names;
  names.reserve(near.size());
  for (auto& [distance, name] : near) names.push_back(std::move(name));
  return names;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates,
                         std::size_t most) {
  const std::vector<std::string> names = nearest(word, candidates, most);
  return names.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", fmt::join(names, "\" or \""));
}

}  // namespace assay
