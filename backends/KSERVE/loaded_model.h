#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "answer.h"
#include "artifact.h"
#include "assay/backend.hpp"
#include "connection_pool.h"

namespace kserve {

// A remote model that was found to be what the artifact says. Any number of threads may predict at
// once, each on a connection of its own.
class LoadedModel {
 public:
  // Asks the server. Throws ASSAY_FAILED_PRECONDITION, naming both sides, when server or signature
  // are no longer those of the artifact, ASSAY_INVALID_ARGUMENT for a batch that it does not take.
  LoadedModel(Artifact artifact, std::int64_t batch_size);

  const assay::backend::Signature& signature() const { return artifact_.signature; }
  void predict(const assay::backend::Inputs& inputs, assay::backend::Outputs& outputs);

  // What the report should say of the calls so far: {"notes": [...]}, JSON. Asks the server.
  std::string facts();

 private:
  void check_unchanged(Connection& connection) const;
  void check_batch(std::int64_t batch_size) const;
  std::string time_note(Connection& connection);

  const Artifact artifact_;
  AnswerLimits limits_;
  ConnectionPool connections_;
  std::optional<Statistics> before_;  // the server's, at load
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> answered_{0};
  std::atomic<std::uint64_t> time_ns_{0};  // of the answered
  std::atomic<std::uint64_t> json_answers_{0};
};

}  // namespace kserve
