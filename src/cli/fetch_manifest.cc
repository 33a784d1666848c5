#include "cli/fetch_manifest.h"

#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "base/json_file.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kCheckout = "checkout/";
constexpr std::string_view kTokenizer = "tokenizer";
constexpr std::string_view kSource = "source:";
constexpr std::string_view kProduct = "product:";

// Walks from a task to what has to be downloaded for it; each thing counts once.
class Walk {
 public:
  explicit Walk(const Json& manifest) : manifest_(manifest) {}

  void add_product(const std::string& name) {
    if (!products_.insert(name).second) return;
    const Json& product = manifest_.at("products").at(name);
    if (const auto found = product.find("environment"); found != product.end()) {
      environments_.insert(found->get<std::string>());
    }
    for (const Json& each : product.at("from")) {
      const auto text = each.get<std::string>();
      if (text.starts_with(kSource)) sources_.insert(text.substr(kSource.size()));
      if (text.starts_with(kProduct)) add_product(text.substr(kProduct.size()));
    }
  }

  std::int64_t download_mb() const { return sum("sources", sources_, "megabytes"); }
  std::int64_t environment_mb() const {
    return sum("environments", environments_, "megabytes_on_disk");
  }

 private:
  std::int64_t sum(const char* kind, const std::set<std::string>& names, const char* key) const {
    std::int64_t megabytes = 0;
    for (const std::string& name : names) {
      megabytes += manifest_.at(kind).at(name).at(key).get<std::int64_t>();
    }
    return megabytes;
  }

  const Json&
      manifest_;  // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members): a walk is local
  std::set<std::string> products_, environments_, sources_;
};

}  // namespace

Result<FetchManifest> FetchManifest::read(const fs::path& file) {
  FetchManifest manifest;
  std::error_code error;
  if (!fs::exists(file, error)) return manifest;
  ASSIGN_OR_RETURN(const JsonFile document, JsonFile::read(file));
  manifest.tasks_ = document.value();
  return manifest;
}

FetchNeed FetchManifest::need(const std::string& task, const fs::path& cache) const {
  FetchNeed need;
  if (tasks_.is_null() || !tasks_->at("tasks").contains(task)) return need;
  Walk walk(*tasks_);
  for (const Json& each : tasks_->at("tasks").at(task)) {
    const auto step = each.get<std::string>();
    if (step.starts_with(kCheckout)) continue;
    need.needed = true;
    if (step == kTokenizer) continue;  // built from the checkout; its packages are small
    walk.add_product(step);
    std::error_code error;
    need.there = need.there && fs::exists(cache / step, error);
  }
  need.download_mb = walk.download_mb();
  need.environment_mb = walk.environment_mb();
  return need;
}

}  // namespace assay::cli
