#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "host/manifest.h"
#include "worker/client.h"

namespace assay::controller {

// Between two phases, the worker of a backend that asks for one per run. One thread at a time.
class KeptWorker {
 public:
  // Keeps workers of this backend when its manifest asks for it; else nothing.
  explicit KeptWorker(const host::Manifest& manifest);
  KeptWorker(const KeptWorker&) = delete;
  KeptWorker& operator=(const KeptWorker&) = delete;
  ~KeptWorker();  // kills one that close() did not end

  bool serves(const host::Manifest& manifest) const;

  // The one that is kept, if any; it is the caller's until it comes back.
  std::optional<worker::Client> take();
  void keep(worker::Client client);

  // What its backend says of itself: the object of assay.facts/1. None without a worker.
  std::optional<JsonValue> facts();

  // Ends it gracefully; ok when there is none. What it left behind is added to `warnings`,
  // unless that is null.
  worker::PhaseEnd close(std::vector<std::string>* warnings);

 private:
  bool per_run_;
  std::filesystem::path folder_;  // of the backend
  std::unique_ptr<worker::Client> client_;
};

}  // namespace assay::controller
