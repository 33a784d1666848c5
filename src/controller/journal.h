#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"
#include "base/result.h"

namespace assay::controller {

// What a run has finished, a line of JSON each, on disk before the next step begins; a run that was
// interrupted takes up from here. A step is named and has a key, the hash of everything that its
// result depends on: a step whose key changed is done again. One thread at a time.
class Journal {
 public:
  // Starts an empty journal, or with `resume` reads what is there first. A last line that was cut
  // off by a crash is dropped.
  static Result<Journal> open(const std::filesystem::path& path, bool resume);
  Journal(Journal&&) noexcept;
  Journal& operator=(Journal&&) noexcept;
  ~Journal();

  // The recorded result of `step` with this key.
  std::optional<JsonValue> find(const std::string& step, const std::string& key) const;

  // Appended and synced.
  Status add(const std::string& step, const std::string& key, const Json& result);

 private:
  explicit Journal(int fd) : fd_(fd) {}

  int fd_ = -1;
  std::map<std::pair<std::string, std::string>, JsonValue> entries_;
};

// Hash of `parts`, in order; no two different lists have the same text.
std::string key_of(const std::vector<std::string>& parts);

}  // namespace assay::controller
