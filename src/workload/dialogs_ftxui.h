#pragma once

#include <memory>

#include "workload/interact_profile.h"

namespace assay::workload {

// Full-screen dialogs on the terminal that standard input and output are. Escape, or Enter in an
// empty field, leaves a question at its default; Ctrl-C gives kCancelled. Main thread only.
std::unique_ptr<DialogProvider> make_terminal_dialogs();

}  // namespace assay::workload
