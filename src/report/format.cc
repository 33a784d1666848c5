#include "report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace assay::report {
namespace {

struct Unit {
  double size;
  const char* name;
};
constexpr std::array<Unit, 4> kTimeUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};
constexpr std::array<Unit, 4> kByteUnits{
    {{1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}, {1, "B"}}};

// "-1234567.25" -> "-1,234,567.25"
std::string grouped(std::string digits) {
  const std::size_t begin = digits.starts_with('-') ? 1 : 0;
  const std::size_t point = std::min(digits.find('.'), digits.size());
  for (std::size_t at = point; at > begin + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

enum class Zeros { kTrim, kKeep };  // at the end of a fraction

// Never an exponent.
std::string plain(double value, int decimals, Zeros zeros) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (zeros == Zeros::kKeep || text.find('.') == std::string::npos) return grouped(text);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return grouped(text == "-0" ? "0" : text);
}

// Digits after the point that show `digits` significant ones. Rounded first, so that 999.96 with
// four digits takes the places of 1000.
int decimals_for(double value, int digits) {
  if (value == 0) return 0;
  const double rounded = std::stod(fmt::format("{:.{}e}", std::abs(value), digits - 1));
  return std::max(0, digits - 1 - static_cast<int>(std::floor(std::log10(rounded))));
}

// The largest unit in which the value, rounded, is at least 1.
template <std::size_t N>
const Unit& unit_of(double value, const std::array<Unit, N>& units, int digits) {
  const double rounded = std::stod(fmt::format("{:.{}e}", std::abs(value), digits - 1));
  for (const Unit& unit : units) {
    if (rounded >= unit.size) return unit;
  }
  return units.back();
}

struct MetricName {
  std::string_view name;
  std::string_view shown;  // General Perf's key where it has one
  bool is_share;
};
constexpr std::array<MetricName, 11> kMetricNames{{{"top1", "Top-1", true},
                                                   {"top5", "Top-5", true},
                                                   {"binary_accuracy", "Binary Accuracy", true},
                                                   {"precision", "Precision", true},
                                                   {"recall", "Recall", true},
                                                   {"f1", "F1 Score", true},
                                                   {"auc", "AUC", false},
                                                   {"log_loss", "Log Loss", false},
                                                   {"exact_match", "Exact Match", false},
                                                   {"squad_f1", "F1 Score", false},
                                                   {"spearman", "Spearman", false}}};

const MetricName* find_metric_name(std::string_view metric) {
  const auto* found = std::find_if(kMetricNames.begin(), kMetricNames.end(),
                                   [&](const MetricName& row) { return row.name == metric; });
  return found == kMetricNames.end() ? nullptr : found;
}

}  // namespace

std::string format_count(std::int64_t value) { return grouped(fmt::format("{}", value)); }

std::string with_separators(std::string_view text) {
  constexpr std::size_t kLeastDigits = 4;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  // What makes digits part of something longer; a point or comma at the end of a sentence does not.
  const auto joins = [&](std::size_t at, std::size_t beyond) {
    if (at >= text.size()) return false;
    const char c = text[at];
    if (c == '.' || c == ',') return beyond < text.size() && digit(text[beyond]);
    return digit(c) || c == '_' || c == '-' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  };
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && digit(text[end])) ++end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    const bool whole = !joins(at - 1, at - 2) && !joins(end, end + 1);
    const std::string digits(text.substr(at, end - at));
    result += whole && digits.size() >= kLeastDigits ? grouped(digits) : digits;
    at = end;
  }
  return result;
}

std::string format_number(double value, int digits) {
  if (!std::isfinite(value)) return std::string(kMissing);
  if (value == 0) return "0";
  const double magnitude = std::abs(value);
  if (magnitude < 1e-4 || magnitude >= 1e15) return fmt::format("{:.{}g}", value, digits);
  return plain(value, decimals_for(value, digits), Zeros::kTrim);
}

std::string format_duration_ns(double ns, int digits) {
  if (!std::isfinite(ns)) return std::string(kMissing);
  const Unit& unit = unit_of(ns, kTimeUnits, digits);
  const double value = ns / unit.size;
  // Whole nanoseconds have no fraction to keep.
  const Zeros zeros = unit.size == 1 ? Zeros::kTrim : Zeros::kKeep;
  return fmt::format("{} {}", plain(value, decimals_for(value, digits), zeros), unit.name);
}

std::string format_bytes(double bytes) {
  if (!std::isfinite(bytes)) return std::string(kMissing);
  const Unit& unit = unit_of(bytes, kByteUnits, 3);
  const double value = bytes / unit.size;
  return fmt::format("{} {}", plain(value, decimals_for(value, 3), Zeros::kTrim), unit.name);
}

std::string format_percent(double fraction, int decimals) {
  if (!std::isfinite(fraction)) return std::string(kMissing);
  return fmt::format("{:.{}f} %", fraction * 100, decimals);
}

const Json& at(const Json& object, std::string_view key) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto member = object.find(std::string(key));
  return member == object.end() ? kNull : *member;
}

const Json& list_at(const Json& object, std::string_view key) {
  static const Json kEmpty = Json::array();
  const Json& member = at(object, key);
  return member.is_array() ? member : kEmpty;
}

std::optional<double> number_at(const Json& object, std::string_view key) {
  const Json& member = at(object, key);
  if (!member.is_number()) return std::nullopt;
  return member.get<double>();
}

std::string string_at(const Json& object, std::string_view key) {
  const Json& member = at(object, key);
  return member.is_string() ? member.get<std::string>() : "";
}

bool bool_at(const Json& object, std::string_view key) {
  const Json& member = at(object, key);
  return member.is_boolean() && member.get<bool>();
}

std::string count_or_missing(const Json& object, std::string_view key) {
  const auto value = number_at(object, key);
  return value ? format_count(std::llround(*value)) : std::string(kMissing);
}

std::string number_or_missing(const Json& object, std::string_view key, int digits) {
  const auto value = number_at(object, key);
  return value ? format_number(*value, digits) : std::string(kMissing);
}

std::string duration_or_missing(const Json& object, std::string_view key, int digits) {
  const auto value = number_at(object, key);
  return value ? format_duration_ns(*value, digits) : std::string(kMissing);
}

std::string bytes_or_missing(const Json& object, std::string_view key) {
  const auto value = number_at(object, key);
  return value ? format_bytes(*value) : std::string(kMissing);
}

std::string text_of(const Json& value) {
  if (value.is_null()) return std::string(kMissing);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return format_number(value.get<double>(), 6);
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += item.key() + ": ";
    const std::string part = text_of(*item);
    text += item->is_array() ? "[" + part + "]" : item->is_object() ? "(" + part + ")" : part;
  }
  return text.empty() ? std::string(kMissing) : text;
}

bool has_few_calls(const Json& row) {
  const auto calls = number_at(row, "samples");
  return calls && *calls < kCallsOfP90;
}

std::string calls_text(const Json& row) {
  const std::string count = count_or_missing(row, "samples");
  return count + (count == "1" ? " call" : " calls");
}

std::string text_or_missing(const Json& object, std::string_view key) {
  return text_of(at(object, key));
}

std::string sentence(std::string_view phrase) {
  std::string text(phrase);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

std::string words(std::string_view identifier) {
  std::string text = sentence(identifier);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string estimate_text(const Json& figure) {
  const auto value = number_at(figure, "value");
  if (!value) return std::string(kMissing);
  const std::string unit = string_at(figure, "unit");
  if (unit == "ns") return format_duration_ns(*value);
  if (unit == "bytes") return format_bytes(*value);
  const std::string number = format_number(*value, 5);
  return unit.empty() ? number : number + " " + unit;
}

std::string kind_of_failure(const Json& result) {
  std::string pipeline = string_at(at(result, "pipeline"), "sentence");
  if (!pipeline.empty()) return pipeline;
  for (const Json& axis : list_at(result, "stability")) {
    if (string_at(axis, "verdict") != "unstable") continue;
    return fmt::format("{}: {}", string_at(axis, "axis"), string_at(axis, "suspected_cause"));
  }
  return "";
}

std::string metric_name(std::string_view metric) {
  const MetricName* row = find_metric_name(metric);
  return std::string(row == nullptr ? metric : row->shown);
}

bool metric_is_share(std::string_view metric) {
  const MetricName* row = find_metric_name(metric);
  return row != nullptr && row->is_share;
}

std::string format_metric(std::string_view metric, std::optional<double> value) {
  if (!value) return std::string(kMissing);
  return metric_is_share(metric) ? format_percent(*value) : format_number(*value);
}

}  // namespace assay::report
