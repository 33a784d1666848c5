#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// The candidates nearest to `word` by edit distance (letters changed, added, left out, or swapped
// with their neighbour), the nearest first and at most `most`, of those
// near enough to be a likely slip (at most a third of the longer word's letters, at least one).
// Ties: in the candidates' order.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates,
                                 std::size_t most = 1);

// ` (did you mean "x"?)`, ` (did you mean "x" or "y"?)`, or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates,
                         std::size_t most = 1);

}  // namespace assay
