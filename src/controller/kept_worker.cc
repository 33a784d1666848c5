#include "controller/kept_worker.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace assay::controller {
namespace {

constexpr std::chrono::seconds kFactsTimeout{60};

}  // namespace

KeptWorker::KeptWorker(const host::Manifest& manifest)
    : per_run_(manifest.worker_policy == host::WorkerPolicy::kPerRun), folder_(manifest.folder) {}

KeptWorker::~KeptWorker() = default;

bool KeptWorker::serves(const host::Manifest& manifest) const {
  return per_run_ && manifest.folder == folder_;
}

std::optional<worker::Client> KeptWorker::take() {
  const std::unique_ptr<worker::Client> taken = std::move(client_);
  return taken ? std::optional<worker::Client>(std::move(*taken)) : std::nullopt;
}

void KeptWorker::keep(worker::Client client) {
  client_ = std::make_unique<worker::Client>(std::move(client));
}

std::optional<JsonValue> KeptWorker::facts() {
  if (!client_) return std::nullopt;
  const Result<Json> answer =
      client_->call("facts", Json::object(), {.timeout = kFactsTimeout, .tick = {}});
  if (client_->death()) client_.reset();
  if (!answer.ok() || !answer->contains("facts")) return std::nullopt;
  return JsonValue((*answer)["facts"]);
}

worker::PhaseEnd KeptWorker::close(std::vector<std::string>* warnings) {
  const std::unique_ptr<worker::Client> taken = std::move(client_);
  if (!taken) return {};
  worker::PhaseEnd end = taken->finish(ok_status());
  if (warnings != nullptr) {
    std::ranges::copy(worker::warnings_of(taken->left_names()), std::back_inserter(*warnings));
  }
  return end;
}

}  // namespace assay::controller
