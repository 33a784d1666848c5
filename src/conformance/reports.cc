#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "conformance/suite.h"

namespace assay::conformance {
namespace {

constexpr int kSchemaVersion = 1;

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

std::string_view word(Outcome outcome) {
  return outcome == Outcome::kNotSupported ? "not supported" : name_of(outcome);
}

std::string command(const SuiteReport& report, const Check& check) {
  return fmt::format("{} --check {}", report.command, check.name);
}

// The first line of a text, so that a table stays one.
std::string one_line(const std::string& text) {
  const std::string first = text.substr(0, text.find('\n'));
  return first.size() < text.size() ? first + " ..." : first;
}

std::string xml_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      case '\t':
        escaped += "&#9;";
        break;
      // XML 1.0 has no other control characters, not even escaped.
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

std::string junit_body(const SuiteReport& report, const CheckRecord& record) {
  const std::string detail = xml_escaped(record.result.detail);
  switch (record.result.outcome) {
    case Outcome::kPassed:
      return {};
    case Outcome::kFailed:
      return fmt::format(
          "    <failure message=\"{}\">contract: {}&#10;to see only this: {}</failure>\n", detail,
          xml_escaped(std::string(record.check.contract)),
          xml_escaped(command(report, record.check)));
    case Outcome::kNotSupported:
      return fmt::format("    <skipped message=\"not supported: {}\"/>\n", detail);
    case Outcome::kSkipped:
      return fmt::format("    <skipped message=\"{}\"/>\n", detail);
  }
  return {};
}

}  // namespace

std::string table_line(const CheckRecord& record) {
  return fmt::format("{:20}  {:13}  {:6.1f} s  {}\n", record.check.name,
                     word(record.result.outcome), seconds(record.wall_ns),
                     one_line(valid_utf8(record.result.detail)));
}

std::string Table::line(const CheckRecord& record) {
  const std::string detail = one_line(valid_utf8(record.result.detail));
  const bool repeats =
      record.result.outcome != Outcome::kPassed && !detail.empty() && detail == said_;
  said_ = detail;
  if (!repeats) return table_line(record);
  return fmt::format("{:20}  {:13}  {:6.1f} s  as above\n", record.check.name,
                     word(record.result.outcome), seconds(record.wall_ns));
}

std::string failures_text(const SuiteReport& report) {
  std::string text;
  for (const CheckRecord& record : report.records) {
    if (record.result.outcome != Outcome::kFailed) continue;
    text += fmt::format("\nFAILED {}\n  contract: {}\n  seen:     {}\n  only that: {}\n",
                        record.check.name, record.check.contract, valid_utf8(record.result.detail),
                        command(report, record.check));
  }
  return text;
}

std::string closing_line(const SuiteReport& report) {
  return fmt::format("{}: {} checks: {} passed, {} failed, {} not supported, {} skipped\n",
                     report.hardware_type, report.records.size(), report.count(Outcome::kPassed),
                     report.count(Outcome::kFailed), report.count(Outcome::kNotSupported),
                     report.count(Outcome::kSkipped));
}

Json to_json(const SuiteReport& report) {
  Json checks = Json::array();
  for (const CheckRecord& record : report.records) {
    checks.push_back({{"name", record.check.name},
                      {"contract", record.check.contract},
                      {"outcome", name_of(record.result.outcome)},
                      {"detail", valid_utf8(record.result.detail)},
                      {"facts", *record.result.facts},
                      {"wall_s", seconds(record.wall_ns)},
                      {"command", command(report, record.check)}});
  }
  return {{"schema_version", kSchemaVersion},
          {"hardware_type", report.hardware_type},
          {"folder", report.folder},
          {"quick", report.quick},
          {"ok", report.ok()},
          {"counts",
           {{"passed", report.count(Outcome::kPassed)},
            {"failed", report.count(Outcome::kFailed)},
            {"not_supported", report.count(Outcome::kNotSupported)},
            {"skipped", report.count(Outcome::kSkipped)}}},
          {"checks", std::move(checks)}};
}

std::string junit_xml(const SuiteReport& report) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  xml += fmt::format(
      "<testsuite name=\"assay check-backend {}\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\">\n",
      xml_escaped(report.hardware_type), report.records.size(), report.count(Outcome::kFailed),
      report.count(Outcome::kNotSupported) + report.count(Outcome::kSkipped));
  for (const CheckRecord& record : report.records) {
    const std::string body = junit_body(report, record);
    xml +=
        fmt::format("  <testcase classname=\"conformance.{}\" name=\"{}\" time=\"{:.3f}\"",
                    xml_escaped(report.hardware_type), record.check.name, seconds(record.wall_ns));
    xml += body.empty() ? "/>\n" : fmt::format(">\n{}  </testcase>\n", body);
  }
  return xml + "</testsuite>\n";
}

}  // namespace assay::conformance
