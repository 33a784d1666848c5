#include "check/verdict.h"

namespace assay::check {
namespace {

int weight(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFail:
      return 3;
    case Verdict::kInconclusive:
      return 2;
    case Verdict::kPass:
      return 1;
    case Verdict::kNotJudged:
      break;
  }
  return 0;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return "fail";
    case Verdict::kInconclusive:
      return "inconclusive";
    case Verdict::kNotJudged:
      break;
  }
  return "not judged";
}

Verdict combine(Verdict a, Verdict b) { return weight(a) >= weight(b) ? a : b; }

}  // namespace assay::check
