#pragma once

#include <cstdint>

#include "python_api.h"

namespace assay::python {

// Calls into Python whose wait is counted, and how long they waited for the lock.
struct LockWait {
  std::uint64_t calls = 0;
  std::int64_t wait_ns = 0;
};
LockWait lock_wait();

// Holds the interpreter lock while it lives, on any thread. A thread gets its state of the
// interpreter once and keeps it until it ends, so that taking the lock again costs little.
class InterpreterLock {
 public:
  enum class Wait { kUncounted, kCounted };
  explicit InterpreterLock(Wait wait = Wait::kUncounted);
  InterpreterLock(const InterpreterLock&) = delete;
  InterpreterLock& operator=(const InterpreterLock&) = delete;
  ~InterpreterLock();
};

// Gives the lock away while it lives, for work that is not Python's. Inside an InterpreterLock.
class InterpreterUnlock {
 public:
  InterpreterUnlock() : state_(PyEval_SaveThread()) {}
  InterpreterUnlock(const InterpreterUnlock&) = delete;
  InterpreterUnlock& operator=(const InterpreterUnlock&) = delete;
  ~InterpreterUnlock() { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* state_;
};

}  // namespace assay::python
