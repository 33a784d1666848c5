#include "workload/request_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/suggest.h"
#include "workload/interact_profile.h"
#include "workload/schemas.h"

namespace assay::workload {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostNearNames = 3;

// Collects what is wrong.
class Errors {
 public:
  void refuse(Status status) {
    if (!status.ok()) list_.push_back(std::move(status));
  }
  void not_accepted(std::string_view option, const std::string& found, std::string_view accepted) {
    refuse(invalid_argument(fmt::format("{}: found {}, accepted: {}", option, found, accepted)));
  }
  std::vector<Status> take() { return std::move(list_); }

 private:
  std::vector<Status> list_;
};

void check_count(const char* option, const std::optional<std::int64_t>& value, std::int64_t most,
                 Errors& errors) {
  if (!value || (*value >= 1 && *value <= most)) return;
  errors.not_accepted(option, std::to_string(*value),
                      fmt::format("a whole number from 1 to {}", most));
}

void check_range(const char* option, const std::optional<double>& value, double low, double high,
                 const std::string& accepted, Errors& errors) {
  if (!value || (*value >= low && *value <= high)) return;  // not a number is in no range
  errors.not_accepted(option, fmt::format("{}", *value), accepted);
}

void check_numbers(const RunRequest& request, Errors& errors) {
  check_count("--clients", request.clients, kMostClients, errors);
  check_count("--iterations", request.iterations, kMostIterations, errors);
  check_range("--data_percent", request.data_percent, 1, 100, "a number from 1 to 100", errors);
  check_range("--timeout", request.timeout_s, kLeastSeconds, kMostSeconds,
              fmt::format("seconds, a number from {} to {} (a day)", kLeastSeconds, kMostSeconds),
              errors);
  check_range("--worker_memory_limit", request.worker_memory_limit_gb, kLeastGigabytes,
              kMostGigabytes,
              fmt::format("gigabytes (10^9 bytes), a number from {} to {}", kLeastGigabytes,
                          kMostGigabytes),
              errors);
  check_range(
      "--worker_cpu_limit", request.worker_cpu_limit_s, kLeastSeconds, kMostCpuSeconds,
      fmt::format("seconds of CPU time, a number from {} to {}", kLeastSeconds, kMostCpuSeconds),
      errors);
  if (request.batch_sizes && request.batch_sizes->empty()) {
    errors.not_accepted("--batch_sizes", "none", "at least one, such as --batch_sizes 1,8");
  }
}

// Their form only: the questions are known when the backend has been asked.
void check_answers(const RunRequest& request, Errors& errors) {
  for (const std::string& option : request.set_options) {
    errors.refuse(parse_set_option(option).status().with_context("--set"));
  }
  if (request.answers_file.empty()) return;
  const auto file = JsonFile::read(request.answers_file);
  errors.refuse(file.status().with_context("--answers"));
  if (!file.ok() || file->empty()) return;
  errors.refuse(to_status(check_schema(answers_schema_json, *file)));
}

void check_hardware(const std::string& asked, const std::vector<std::string>& known,
                    Errors& errors) {
  if (known.empty() || std::find(known.begin(), known.end(), asked) != known.end()) return;
  // They are few: a wrong one is told the others too.
  errors.refuse(not_found(fmt::format("unknown hardware type \"{}\"{}; hardware types are: {}",
                                      asked, did_you_mean(asked, known), fmt::join(known, ", "))));
}

}  // namespace

std::vector<Status> check_request(const RunRequest& request,
                                  const std::vector<std::string>& hardware_types) {
  Errors errors;
  check_numbers(request, errors);
  check_answers(request, errors);
  check_hardware(request.hardware_type, hardware_types, errors);
  return errors.take();
}

Status check_output_is_free(const RunRequest& request) {
  std::error_code error;
  if (request.output.empty()) {
    return invalid_argument("--output: found nothing, accepted: a folder");
  }
  if (fs::exists(request.output, error) && !fs::is_directory(request.output, error)) {
    return invalid_argument(
        fmt::format("--output: {} is a file, accepted: a folder", quoted(request.output)));
  }
  if (request.resume || !fs::exists(request.output / "result.json", error)) return ok_status();
  return already_exists(fmt::format(
      "--output: {} already holds a result; accepted: another folder, or --resume to take that "
      "run up",
      quoted(request.output)));
}

std::string nearest_or_all(const std::string& word, const std::vector<std::string>& names,
                           std::string_view what) {
  const std::string hint = did_you_mean(word, names, kMostNearNames);
  if (!hint.empty()) return hint;
  return names.empty() ? fmt::format("; there are no {}", what)
                       : fmt::format("; {} are: {}", what, fmt::join(names, ", "));
}

}  // namespace assay::workload
