#pragma once

namespace assay::worker {

// The signal that asks a thread of a worker for its stack: a real-time one that nothing else uses.
// python/assay_host/worker.py names it too.
int stack_signal();

// The worker's side: from here on that signal makes a thread write its frames to `fd`, then, in the
// main thread, what answered the signal before (the dump of an interpreter), then kStackEnd. Only
// what is safe in a signal handler is called. Once per process.
void answer_with_stacks(int fd);

inline constexpr char kStackEnd[] = "\n.\n";

}  // namespace assay::worker
