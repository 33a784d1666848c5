#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "connection.h"

namespace kserve {

// Connections to one server, one for each call that is under way. Thread-safe.
class ConnectionPool {
 public:
  ConnectionPool(Options options, std::string token)
      : options_(std::move(options)), token_(std::move(token)) {}

  // A connection for one call. One that is not given back, since its call failed, is closed.
  Connection take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Connection connection = std::move(idle_.back());
        idle_.pop_back();
        return connection;
      }
    }
    return {options_, token_};
  }
  void give_back(Connection connection) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }

  // Requests that idle connections have sent once more.
  std::uint64_t repeated() {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    for (const Connection& connection : idle_) count += connection.repeated();
    return count;
  }

 private:
  const Options options_;
  const std::string token_;
  std::mutex mutex_;
  std::vector<Connection> idle_;  // guarded by mutex_
};

}  // namespace kserve
