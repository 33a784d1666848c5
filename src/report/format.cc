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
  for (std::size_t at = point; at > begin + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

// Without zeros at the end of the fraction; never an exponent.
std::string plain(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') == std::string::npos) return grouped(text);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return grouped(text == "-0" ? "0" : text);
}

template <std::size_t N>
std::string with_unit(double value, const std::array<Unit, N>& units, int digits) {
  for (const Unit& unit : units) {
    if (std::abs(value) >= unit.size || unit.size == 1) {
      return fmt::format("{} {}", format_number(value / unit.size, digits), unit.name);
    }
  }
  return std::string(kMissing);
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

std::string format_number(double value, int digits) {
  if (!std::isfinite(value)) return std::string(kMissing);
  if (value == 0) return "0";
  const double magnitude = std::abs(value);
  if (magnitude < 1e-4 || magnitude >= 1e15) return fmt::format("{:.{}g}", value, digits);
  // Rounded first, so that 999.96 with four digits takes the places of 1000.
  const int exponent = static_cast<int>(
      std::floor(std::log10(std::stod(fmt::format("{:.{}e}", magnitude, digits - 1)))));
  return plain(value, std::max(0, digits - 1 - exponent));
}

std::string format_duration_ns(double ns, int digits) {
  if (!std::isfinite(ns)) return std::string(kMissing);
  return with_unit(ns, kTimeUnits, digits);
}

std::string format_bytes(double bytes) { return with_unit(bytes, kByteUnits, 3); }

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
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) {
    if (item.is_structured()) return value.dump();
    if (!text.empty()) text += ", ";
    text += text_of(item);
  }
  return text.empty() ? std::string(kMissing) : text;
}

std::string text_or_missing(const Json& object, std::string_view key) {
  return text_of(at(object, key));
}

std::string words(std::string_view identifier) {
  std::string text(identifier);
  std::replace(text.begin(), text.end(), '_', ' ');
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
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
