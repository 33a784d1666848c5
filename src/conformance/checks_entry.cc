// Checks of what is known before anything is compiled.

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>

#include "assay/backend.h"
#include "base/file.h"
#include "conformance/checks.h"
#include "controller/steps.h"

namespace assay::conformance {
namespace {

using std::chrono::seconds;

constexpr const char* kNoLibrary =
    "a backend in Python has no library: the entry is that of Assay's bridge";

// A drill that opens the library itself, in a worker that has not.
Result<drill::Finding> fresh_drill(worker::Client& client, const host::Manifest& manifest,
                                   const char* name, Json arguments) {
  ASSIGN_OR_RETURN(const Json answer,
                   client.call("drill",
                               Json{{"name", name},
                                    {"library", manifest.library_path().string()},
                                    {"arguments", std::move(arguments)}},
                               {.timeout = kDrillTimeout, .tick = {}}));
  return drill::Finding{answer.value("violation", ""), answer.value("facts", Json())};
}

// A host that is older, newer or another: does the entry say the right thing to it?
struct Host {
  std::string what;
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::int64_t oldest = 0;
};

CheckResult negotiate(Bench& bench, const Host& host, bool accept) {
  CheckResult result = bench.in_fresh_worker([&](worker::Client& client) -> Result<CheckResult> {
    ASSIGN_OR_RETURN(const drill::Finding finding,
                     fresh_drill(client, bench.manifest(), "negotiate",
                                 Json{{"major", host.major},
                                      {"minor", host.minor},
                                      {"oldest", host.oldest},
                                      {"accept", accept}}));
    return result_of(finding);
  });
  if (result.outcome == Outcome::kFailed) {
    result.detail = fmt::format("{} (version {}.{}, oldest it accepts {}.{}): {}", host.what,
                                host.major, host.minor, host.major, host.oldest, result.detail);
  }
  return result;
}

// The hosts that a plugin of these versions meets.
std::vector<Host> hosts_to_meet(std::int64_t minor, std::int64_t oldest) {
  constexpr std::int64_t kMajor = ASSAY_BACKEND_ABI_MAJOR;
  std::vector<Host> hosts = {
      {"a newer host that accepts it", kMajor, minor + 1, oldest},
      {"a newer host that does not accept it", kMajor, minor + 2, minor + 1},
      {"a host of another major", kMajor + 1, minor, oldest},
  };
  if (oldest > 0) hosts.push_back({"a host older than it accepts", kMajor, oldest - 1, 0});
  if (minor > oldest) hosts.push_back({"an older host that it accepts", kMajor, oldest, 0});
  return hosts;
}

}  // namespace

CheckResult check_manifest(Bench& bench, std::int64_t /*argument*/) {
  const Result<host::Manifest>& read = bench.read_manifest();
  if (!read.ok()) return failed(read.status().message());
  if (read->library.empty()) return passed(read->description);
  std::error_code error;
  if (!std::filesystem::is_regular_file(read->library_path(), error)) {
    return failed(fmt::format("\"library\": there is no file {}", quoted(read->library_path())));
  }
  if (read->interface_major != ASSAY_BACKEND_ABI_MAJOR) {
    return failed(fmt::format("\"interface_major\": found {}, this Assay speaks {}",
                              read->interface_major, ASSAY_BACKEND_ABI_MAJOR));
  }
  return passed(read->description);
}

CheckResult check_open(Bench& bench, std::int64_t /*argument*/) {
  if (bench.manifest().library.empty()) return not_supported(kNoLibrary);
  return bench.in_fresh_worker([&](worker::Client& client) -> Result<CheckResult> {
    ASSIGN_OR_RETURN(const drill::Finding finding,
                     fresh_drill(client, bench.manifest(), "entry_acquires", Json::object()));
    return result_of(finding);
  });
}

CheckResult check_versions(Bench& bench, std::int64_t /*argument*/) {
  if (bench.manifest().library.empty()) return not_supported(kNoLibrary);
  constexpr std::int64_t kMinor = ASSAY_BACKEND_ABI_MINOR;
  constexpr std::int64_t kOldest = ASSAY_BACKEND_ABI_MINOR_OLDEST;
  CheckResult own = negotiate(bench, {"this host", ASSAY_BACKEND_ABI_MAJOR, kMinor, kOldest}, true);
  if (own.outcome != Outcome::kPassed) return own;
  const auto minor = own.facts->value("minor", std::int64_t{0});
  const auto oldest = own.facts->value("oldest", std::int64_t{0});
  for (const Host& host : hosts_to_meet(minor, oldest)) {
    const bool accept =
        host.major == ASSAY_BACKEND_ABI_MAJOR && host.minor >= oldest && minor >= host.oldest;
    CheckResult result = negotiate(bench, host, accept);
    if (result.outcome != Outcome::kPassed) return result;
  }
  return passed(fmt::format("boundary version {}.{}", ASSAY_BACKEND_ABI_MAJOR, minor), own.facts);
}

CheckResult check_identity(Bench& bench, std::int64_t /*argument*/) {
  const Json arguments = {{"hardware_type", bench.manifest().hardware_type}};
  CheckResult first = bench.drill("identity", arguments);
  if (first.outcome != Outcome::kPassed) return first;
  CheckResult second = bench.drill("identity", arguments);
  if (second.outcome != Outcome::kPassed) return second;
  const auto version = first.facts->value("version", "");
  if (version == second.facts->value("version", "")) return passed(version, first.facts);
  return failed(fmt::format("version said \"{}\", and in another process \"{}\"", version,
                            second.facts->value("version", "")));
}

CheckResult check_profile(Bench& bench, std::int64_t /*argument*/) {
  const Json configs = {{"workload", Json::object()}, {"model_info", Json::object()}};
  return bench.in_worker([&](controller::Session& session) -> Result<CheckResult> {
    ASSIGN_OR_RETURN(
        const Json answer,
        session.call("interact_profile", Json{{"configs", configs.dump()}}, seconds(60)));
    ASSIGN_OR_RETURN(const auto profile,
                     controller::read_profile(answer.value("profile", ""), bench.manifest()));
    return passed(fmt::format("{} questions", profile.questions.size()));
  });
}

CheckResult check_probe(Bench& bench, std::int64_t /*argument*/) {
  CheckResult result = bench.drill("probe_acquires");
  if (result.outcome != Outcome::kPassed) return result;
  if (!result.facts->value("offered", false)) return not_supported("the backend has no probe");
  if (!result.facts->value("available", false)) {
    return passed("not available: " + result.facts->value("reason", ""), result.facts);
  }
  return passed("available", result.facts);
}

}  // namespace assay::conformance
