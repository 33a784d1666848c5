#pragma once

// Numbers as people read them. Pure; the same in every report. A value that is not there is "–".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace assay::report {

inline constexpr std::string_view kMissing = "\u2013";

// 1234567 -> "1,234,567"
std::string format_count(std::int64_t value);

// A sentence whose counts of four digits and more get separators: "9253 right of 10000" -> "9,253
// right of 10,000". Digits that belong to a word, a fraction or a number with separators stay.
std::string with_separators(std::string_view text);

// `digits` significant ones, thousands separated, never in scientific form between 1e-4 and 1e15:
// 30291.24 -> "30,291", 1.8417 -> "1.842", 1.2e-7 -> "1.2e-07".
std::string format_number(double value, int digits = 4);

// 262062 -> "262.1 µs"; the unit is the largest in which the value is at least 1.
std::string format_duration_ns(double ns, int digits = 4);

// 92_274_688 -> "88 MiB"
std::string format_bytes(double bytes);

// 0.9253 -> "92.53 %"
std::string format_percent(double fraction, int decimals = 2);

// The same of a member that may be missing or null: then kMissing.
std::string count_or_missing(const Json& object, std::string_view key);
std::string number_or_missing(const Json& object, std::string_view key, int digits = 4);
std::string duration_or_missing(const Json& object, std::string_view key, int digits = 4);
std::string bytes_or_missing(const Json& object, std::string_view key);
// Any scalar as text; objects and lists joined by commas, deeper ones in brackets.
std::string text_or_missing(const Json& object, std::string_view key);
std::string text_of(const Json& value);

// Whether a performance row has fewer calls than the lowest percentile floor (P90's): it may be
// valid, and still its figures are of a few calls only.
inline constexpr int kCallsOfP90 = 64;
bool has_few_calls(const Json& row);
std::string calls_text(const Json& row);  // "1 call", "7,200 calls"

// Members that may be missing: none when absent, null, or of another type.
std::optional<double> number_at(const Json& object, std::string_view key);
std::string string_at(const Json& object, std::string_view key);  // "" when there is none
bool bool_at(const Json& object, std::string_view key);           // false when there is none
// The member, or an empty list / null.
const Json& list_at(const Json& object, std::string_view key);
const Json& at(const Json& object, std::string_view key);

// With a capital letter in front.
std::string sentence(std::string_view phrase);

// What the verdict's first line says beside the word: the kind of wrong pipeline, else the first
// unstable axis with its suspected cause, else "".
std::string kind_of_failure(const Json& result);

// "pass" -> "Pass", "not_judged" -> "Not judged", "timed_out" -> "Timed out".
std::string words(std::string_view identifier);

// {value, unit} of a modelled figure: "1.2 ms", "512 KiB", "40 cycles"; kMissing for null.
std::string estimate_text(const Json& figure);

// "top1" -> "Top-1"; a metric without a known name is itself.
std::string metric_name(std::string_view metric);
// Whether the metric is a share, shown in per cent.
bool metric_is_share(std::string_view metric);
std::string format_metric(std::string_view metric, std::optional<double> value);

}  // namespace assay::report
