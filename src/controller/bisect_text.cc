// What a bisection found, as text.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "controller/bisect.h"

namespace assay::controller {
namespace {

std::string number_text(const Json& value) {
  if (value.is_number()) return fmt::format("{:.7g}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : "none";
}

std::string line(const char* what, const std::string& text) {
  return fmt::format("  {:<12}{}\n", what, text);
}

std::string operator_text(const Json& info) {
  const std::string name = info["name"];
  return fmt::format("{} {}{}", info["index"].get<std::int64_t>(),
                     info["op_type"].get<std::string>(),
                     name.empty() ? "" : fmt::format(" \"{}\"", name));
}

std::string verdict_text(const Json& result) {
  const std::string verdict = result["verdict"];
  const Json& finding = result["finding"];
  if (verdict == "within") return "no operator leaves its tolerance";
  if (verdict == "not_compiled") return "the backend does not compile the whole model";
  if (verdict == "operator") return "this operator alone is wrong on right inputs";
  const std::string range = fmt::format("operators {}..{}", finding["first"].get<std::int64_t>(),
                                        finding["last"].get<std::int64_t>());
  if (verdict == "range") {
    return fmt::format("{} are wrong on right inputs; the backend does not compile them apart",
                       range);
  }
  if (verdict == "together") {
    return fmt::format("only together with {}, as when the backend fuses them", range);
  }
  if (verdict == "accumulated") {
    return fmt::format("error accumulates over {}: no single operator leaves its tolerance", range);
  }
  return fmt::format("{} deviated once and not again: the answers change from call to call", range);
}

std::string tensor_text(const Json& tensor, const Json& index) {
  std::string text = line("output", tensor["spec"]);
  if (const std::string mismatch = tensor["mismatch"]; !mismatch.empty()) {
    return text + line("differs", mismatch);
  }
  text += line("worst", fmt::format("{} reference {} got {}", index.get<std::string>(),
                                    number_text(tensor["reference"]), number_text(tensor["got"])));
  const auto nonfinite = tensor["nonfinite_mismatches"].get<std::uint64_t>();
  if (nonfinite > 0) {
    text += line("not finite",
                 fmt::format("{} elements are NaN or infinite on one side only", nonfinite));
  }
  return text + line("difference", fmt::format("{}, tolerance {}", number_text(tensor["max_abs"]),
                                               number_text(tensor["tolerance"])));
}

std::string tolerance_text(const Json& result) {
  const Json& finding = result["finding"];
  const Json& variants = finding["variants"];
  std::string floor = fmt::format("{} units in the last place of {}",
                                  number_text(result["tolerance"]["floor_ulps"]),
                                  result["precision"]["name"].get<std::string>());
  const std::size_t failed = finding["variants_failed"].size();
  const std::string lost = failed == 0 ? "" : fmt::format(" ({} more could not be run)", failed);
  if (variants.empty()) return floor + lost;
  return fmt::format("{} times what {} healthy variants of the reference differ{}, at least {}",
                     number_text(result["tolerance"]["allowance"]), variants.size(), lost, floor);
}

std::string finding_text(const Json& result) {
  const Json& finding = result["finding"];
  std::string text = line("operator", operator_text(finding["operator"]));
  text += line("kind", verdict_text(result));
  if (finding["worst"].is_null()) {
    text += line("backend", finding["why"]);
  } else {
    text += tensor_text(finding["worst"], finding["worst_index"]);
    text += line("made of", tolerance_text(result));
  }
  const Json& uncertainty = finding["uncertainty"];
  if (!uncertainty["certain"].get<bool>()) {
    text += line("uncertain",
                 fmt::format("the error starts in operators {}..{}: {} cuts between do not compile",
                             uncertainty["first"].get<std::int64_t>(),
                             uncertainty["last"].get<std::int64_t>(),
                             uncertainty["not_compiled_after"].size()));
  }
  return text;
}

std::string counts_text(const Json& result) {
  const Json& counts = result["counts"];
  return fmt::format(
      "{} compilations on {} ({} refused), {} on the reference, {:.1f} s",
      counts["tested_compilations"].get<std::int64_t>(), result["hardware_type"].get<std::string>(),
      counts["refused"].get<std::int64_t>(), counts["reference_compilations"].get<std::int64_t>(),
      result["wall_ns"].get<double>() / 1e9);
}

}  // namespace

std::string bisect_text(const BisectSummary& summary) {
  const Json& result = summary.result.get();
  const bool found = !result["finding"].is_null();
  std::string text = fmt::format(
      "{} on {}: {}\n", result["model"]["name"].get<std::string>(),
      result["hardware_type"].get<std::string>(),
      found ? "the error starts at operator " + operator_text(result["finding"]["operator"])
            : verdict_text(result));
  if (found) text += finding_text(result);
  if (const std::string reason = result["whole_model"]["reason"]; !reason.empty()) {
    text +=
        line("whole model",
             fmt::format("{}: {}", result["whole_model"]["outcome"].get<std::string>(), reason));
  } else if (result["verdict"] == "not_compiled") {
    text += line("whole model", result["cuts"].back()["why"]);
  }
  if (!found && result["verdict"] == "within") {
    text +=
        line("whole model", fmt::format("outputs differ by {} of their largest magnitude at most",
                                        number_text(result["whole_model"]["relative_difference"])));
  }
  text += line("sample", fmt::format("{} ({})", result["sample"]["id"].get<std::string>(),
                                     result["sample"]["chosen"].get<std::string>()));
  text += line("cost", counts_text(result));
  text += line("written to", summary.folder.string());
  if (found) text += line("again", result["repeat_command"]);
  return text;
}

std::string repeat_text(const BisectSummary& summary) {
  const Json& result = summary.result.get();
  const char* found = summary.exit_code == kExitPhaseFailed ? "could not be repeated"
                      : result["deviates"].get<bool>()      ? "still deviates"
                                                            : "no longer deviates";
  std::string text = fmt::format("{}: {}\n", quoted(summary.folder), found);
  if (const std::string reason = result["reason"]; !reason.empty()) {
    text += line("backend", fmt::format("{}: {}", result["outcome"].get<std::string>(), reason));
  }
  for (const Json& tensor : result["tensors"]) text += tensor_text(tensor, tensor["index"]);
  return text;
}

}  // namespace assay::controller
