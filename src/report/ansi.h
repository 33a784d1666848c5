#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::report {

enum class Tone { kPlain, kGood, kBad, kCaution, kQuiet, kStrong };

// The tone of a verdict or an outcome: "pass" and "ok" are good, "fail", "crashed" and the like
// bad, "inconclusive" and "incomplete" ask for caution, what was not done is quiet.
Tone tone_of(std::string_view outcome);

// `text` in its colour, or as it is.
std::string painted(std::string_view text, Tone tone, bool color);

// Columns that UTF-8 text takes, a character each. Control characters are not expected.
std::size_t width_of(std::string_view utf8);
// The first `columns` characters, whole ones.
std::string cut_to(std::string_view utf8, std::size_t columns);
// Filled up with blanks to `columns`, on the right or on the left.
std::string left_aligned(std::string_view utf8, std::size_t columns);
std::string right_aligned(std::string_view utf8, std::size_t columns);

// `text` without control characters: what a backend or a file says cannot move the cursor.
std::string printable(std::string_view text);

}  // namespace assay::report
