#include "interpreter_lock.h"

#include <atomic>
#include <chrono>

namespace assay::python {
namespace {

std::atomic<std::uint64_t> counted_calls{0};
std::atomic<std::int64_t> counted_wait_ns{0};

// This thread's state of the interpreter. One that Python made, as for its main thread, is
// Python's to remove; one that was made here goes with the thread.
class ThreadState {
 public:
  ThreadState() = default;
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;
  ~ThreadState() {
    if (!made_here_) return;
    PyEval_RestoreThread(state_);
    PyGILState_Release(made_);
  }

  void enter() {
    if (state_ == nullptr) find_or_make();
    PyEval_RestoreThread(state_);
  }

 private:
  void find_or_make() {
    state_ = PyGILState_GetThisThreadState();
    if (state_ != nullptr) return;
    made_ = PyGILState_Ensure();
    made_here_ = true;
    state_ = PyEval_SaveThread();
  }

  PyThreadState* state_ = nullptr;
  PyGILState_STATE made_{};
  bool made_here_ = false;
};

thread_local ThreadState this_thread;

std::int64_t clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

LockWait lock_wait() { return {counted_calls.load(), counted_wait_ns.load()}; }

InterpreterLock::InterpreterLock(Wait wait) {
  const std::int64_t asked_ns = clock_ns();
  this_thread.enter();
  if (wait == Wait::kUncounted) return;
  counted_wait_ns.fetch_add(clock_ns() - asked_ns, std::memory_order_relaxed);
  counted_calls.fetch_add(1, std::memory_order_relaxed);
}

InterpreterLock::~InterpreterLock() { PyEval_SaveThread(); }

}  // namespace assay::python
