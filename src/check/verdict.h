#pragma once

#include <string_view>

namespace assay::check {

// What came of holding a measurement to a criterion.
enum class Verdict { kPass, kFail, kInconclusive, kNotJudged };

// "pass", "fail", "inconclusive", "not judged".
std::string_view name_of(Verdict verdict);

// The verdict of a whole from those of its parts: fail before inconclusive before pass; "not
// judged" gives way to any.
Verdict combine(Verdict a, Verdict b);

}  // namespace assay::check
