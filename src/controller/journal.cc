#include "controller/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "base/json_parse.h"
#include "controller/typed_object.h"

namespace assay::controller {
namespace {

Status append_synced(int fd, const std::string& line) {
  RETURN_IF_ERROR(write_all(fd, line, "the journal"));
  if (::fdatasync(fd) != 0) return errno_status(errno, "cannot sync the journal");
  return ok_status();
}

}  // namespace

Result<Journal> Journal::open(const std::filesystem::path& path, bool resume) {
  std::map<std::pair<std::string, std::string>, JsonValue> entries;
  std::string kept;
  if (resume) {
    const Result<std::string> text = read_file(path);
    if (!text.ok() && text.status().code() != StatusCode::kNotFound) return text.status();
    std::istringstream lines(text.ok() ? *text : "");
    for (std::string line; std::getline(lines, line);) {
      const Result<Json> parsed = parse_json(line);
      if (!parsed.ok()) continue;
      const Json& entry = *parsed;
      const TypedObject members(entry, "a line of the journal");
      const Result<std::string> step = members.text("step");
      const Result<std::string> key = members.text("key");
      if (!step.ok() || !key.ok() || !entry.contains("result")) continue;
      entries[{*step, *key}] = JsonValue(entry["result"]);
      kept += line + '\n';
    }
  }
  RETURN_IF_ERROR(write_file_atomic(path, kept));
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return errno_status(errno, "cannot open " + quoted(path));
  Journal journal(fd);
  journal.entries_ = std::move(entries);
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), entries_(std::move(other.entries_)) {}

Journal& Journal::operator=(Journal&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(entries_, other.entries_);
  return *this;
}

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<JsonValue> Journal::find(const std::string& step, const std::string& key) const {
  const auto found = entries_.find({step, key});
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

Status Journal::add(const std::string& step, const std::string& key, const Json& result) {
  const Json entry{{"step", step}, {"key", key}, {"result", result}};
  entries_[{step, key}] = JsonValue(result);
  return append_synced(fd_, entry.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
}

std::string key_of(const std::vector<std::string>& parts) {
  Sha256 hash;
  for (const std::string& part : parts) hash.update(fmt::format("{}:{}", part.size(), part));
  return hash.hex_digest();
}

}  // namespace assay::controller
