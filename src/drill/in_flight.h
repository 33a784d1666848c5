#pragma once

// Internal to the room: submitted calls as the boundary itself has them, past the host's own
// bookkeeping, so that what a backend does with a ticket is seen as it is.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "assay/backend.h"
#include "drill/case.h"
#include "host/backend.h"

namespace assay::drill {

// Calls on their way on one handle. Made and asked by one thread; completions come on any. Outlives
// the handle's close. What breaks the contract is kept: the first of it is violation().
class CallsInFlight {
 public:
  CallsInFlight(host::RuntimeBackend& runtime, const std::vector<Case>& cases);
  CallsInFlight(const CallsInFlight&) = delete;
  CallsInFlight& operator=(const CallsInFlight&) = delete;

  // Submits the case of that number, taken round; the code that submit returned. May be called from
  // inside a completion.
  std::int32_t submit(std::size_t number);
  // The code that cancel returned.
  std::int32_t cancel(std::uint64_t ticket);

  // While held, a completion on another thread than the maker's stays inside its report. Not for
  // ever: a backend that waits for it is let go after kPatience, which is a violation.
  void hold(bool on);
  // Called inside each completion, after the call has been judged.
  void set_on_complete(std::function<void()> on_complete);

  std::size_t accepted() const;
  std::size_t reported() const;  // calls whose completion has begun
  std::uint64_t last_ticket() const;
  std::int32_t code_of(std::uint64_t ticket) const;  // ASSAY_UNKNOWN before it completed

  // Until every accepted call has completed, kPatience at most: then it is a violation.
  void wait_for_all();
  // After close: each accepted call completed once, no refused one did.
  void settle();

  void note(std::string violation);
  std::string violation() const;

 private:
  static constexpr std::chrono::seconds kPatience{10};

  struct Call {
    CallsInFlight* owner = nullptr;
    std::uint64_t ticket = 0;
    const Case* right = nullptr;
    std::vector<Tensor> inputs;  // lent; changed as soon as the call is back
    std::vector<Tensor> outputs;
    std::vector<bool> given;
    assay_output_sink sink{};
    bool accepted = false;
    int completions = 0;
    std::int32_t code = ASSAY_UNKNOWN;
  };

  static std::int32_t alloc_output(void* context, std::uint32_t index, assay_tensor* output,
                                   assay_error* error);
  static void complete(void* context, std::uint64_t ticket, std::int32_t code, const char* message);
  Status give(Call& call, std::uint32_t index, assay_tensor& output);
  Result<Call*> prepare(std::size_t number);
  void judge(Call& call, std::int32_t code, const char* message);
  void wait_while_held();

  host::RuntimeBackend* runtime_;
  const std::vector<Case>* cases_;
  std::thread::id maker_;
  std::function<void()> on_complete_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // The rest: guarded by mutex_, and a call's inputs and outputs the backend's until it completes.
  std::deque<Call> calls_;
  bool held_ = false;
  std::size_t accepted_ = 0;
  std::size_t reported_ = 0;
  std::size_t completed_ = 0;
  std::string violation_;
};

}  // namespace assay::drill
