#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

// The candidate nearest to `word` by edit distance, when it is near enough to be a likely slip
// (at most a third of the longer word's letters, at least one); else "". Ties: the first.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// ` (did you mean "x"?)` or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace assay
