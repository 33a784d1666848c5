#pragma once

// The conformance suite: every check in a worker of its own, so that a crash or a hang is one
// failed check and no more.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "conformance/bench.h"
#include "conformance/check.h"

namespace assay::conformance {

// All checks, in the order in which they run.
std::span<const Check> all_checks();

// The checks of these names; for a name that is none, such as "dtype" or "compile.", all that begin
// with it and a dot. All of them for an empty list. kInvalidArgument names what there is.
Result<std::vector<Check>> chosen_checks(const std::vector<std::string>& names);

struct CheckRecord {
  Check check;
  CheckResult result;
  std::int64_t wall_ns = 0;
};

struct SuiteReport {
  std::string hardware_type;
  std::string folder;  // the backend's
  bool quick = false;
  std::string command;  // that runs the suite alike; " --check NAME" makes it run one
  std::vector<CheckRecord> records;

  std::size_t count(Outcome outcome) const;
  bool ok() const { return count(Outcome::kFailed) == 0 && count(Outcome::kSkipped) == 0; }
};

// Runs them. `on_record` is told each one's end; may be empty. A check that cannot say anything,
// since what it needs failed, is skipped.
std::vector<CheckRecord> run_checks(Bench& bench, const std::vector<Check>& checks,
                                    const std::function<void(const CheckRecord&)>& on_record);

// The reports. Pure functions.
std::string table_line(const CheckRecord& record);

// The lines of a table: one that would repeat the words of the line before says "as above".
class Table {
 public:
  std::string line(const CheckRecord& record);

 private:
  std::string said_;
};
std::string failures_text(const SuiteReport& report);  // with contract, what was seen, the command
std::string closing_line(const SuiteReport& report);
Json to_json(const SuiteReport& report);  // schemas/conformance.schema.json
std::string junit_xml(const SuiteReport& report);

}  // namespace assay::conformance
