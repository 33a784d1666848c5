#pragma once

#include <atomic>
#include <memory>

#include "workload/interact_profile.h"

namespace assay::workload {

// Full-screen dialogs on the terminal that standard input and output are. Escape, or Enter in an
// empty field, leaves a question at its default. kCancelled after Ctrl-C, when the terminal goes
// away, and soon after `stop`, which outlives the dialogs and may be null, becomes true. Main
// thread only.
std::unique_ptr<DialogProvider> make_terminal_dialogs(const std::atomic<bool>* stop = nullptr);

}  // namespace assay::workload
