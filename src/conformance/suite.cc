#include "conformance/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/suggest.h"

namespace assay::conformance {
namespace {

// "compile" is one check, "compile." and "dtype" are families.
std::vector<Check> named(const std::string& name) {
  const std::span<const Check> all = all_checks();
  std::vector<Check> found;
  std::ranges::copy_if(all, std::back_inserter(found),
                       [&](const Check& check) { return check.name == name; });
  if (!found.empty()) return found;
  const std::string family = name.ends_with('.') ? name : name + ".";
  std::ranges::copy_if(all, std::back_inserter(found),
                       [&](const Check& check) { return check.name.starts_with(family); });
  return found;
}

// Why a check cannot say anything; "" when it can.
class Preconditions {
 public:
  std::string missing(Bench& bench, const Check& check) {
    if (bench.interrupted()) return "interrupted";
    if (check.needs == Needs::kNothing) return {};
    if (!bench.read_manifest().ok()) return "the manifest cannot be read";
    if (check.needs == Needs::kManifest) return {};
    if (const std::string why = library(bench); !why.empty()) return why;
    if (check.needs == Needs::kLibrary) return {};
    const auto& compiled = bench.compiled();
    if (compiled.ok()) return {};
    if (std::exchange(told_, true)) return "no compiled model, as above";
    return fmt::format("no compiled model: {}", compiled.status().message());
  }

 private:
  std::string library(Bench& bench) {
    if (!library_) {
      const CheckResult opened =
          bench.in_worker([](controller::Session&) -> Result<CheckResult> { return passed(); });
      library_ = opened.outcome == Outcome::kPassed
                     ? ""
                     : fmt::format("the library does not open: {}", opened.detail);
    }
    return *library_;
  }

  std::optional<std::string> library_;
  bool told_ = false;  // why there is no compiled model
};

}  // namespace

Result<std::vector<Check>> chosen_checks(const std::vector<std::string>& names) {
  const std::span<const Check> all = all_checks();
  if (names.empty()) return std::vector<Check>(all.begin(), all.end());
  std::vector<Check> chosen;
  for (const std::string& name : names) {
    const std::vector<Check> found = named(name);
    chosen.insert(chosen.end(), found.begin(), found.end());
    if (!found.empty()) continue;
    std::vector<std::string> known;
    for (const Check& check : all) known.emplace_back(check.name);
    return invalid_argument(fmt::format("--check {}: there is no such check{}; checks are: {}",
                                        name, did_you_mean(name, known), fmt::join(known, ", ")));
  }
  return chosen;
}

std::size_t SuiteReport::count(Outcome outcome) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      records, [&](const CheckRecord& record) { return record.result.outcome == outcome; }));
}

std::vector<CheckRecord> run_checks(Bench& bench, const std::vector<Check>& checks,
                                    const std::function<void(const CheckRecord&)>& on_record) {
  std::vector<CheckRecord> records;
  Preconditions preconditions;
  for (const Check& check : checks) {
    CheckRecord record{check, {}, 0};
    const std::int64_t start_ns = now_ns();
    bench.begin("needs-of-" + std::string(check.name));
    const std::string missing = preconditions.missing(bench, check);
    bench.begin(std::string(check.name));
    record.result = missing.empty() ? check.run(bench, check.argument) : skipped(missing);
    record.wall_ns = now_ns() - start_ns;
    if (on_record) on_record(record);
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace assay::conformance
