#pragma once

// What a bad backend does to the process that holds it, and to those around it, by the name that
// ASSAY_FAULT gives it.

#include <string>
#include <string_view>

namespace faulty {

std::string environment(const char* name);

// Does it; what ends the process, or never ends, does not return. Nothing for an unknown name.
void commit(std::string_view misdeed);

// What the backend says instead of `text`: "bad_json", "bad_text" (no UTF-8),
// "deep_json" and "huge_text" make something else of it; `text` for any other name.
std::string misspoken(std::string_view misdeed, std::string text);

// ASSAY_FAULT_MS milliseconds, 50 without it.
void slow();

}  // namespace faulty
