#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace assay::worker {

// The last lines of a log, `most_bytes` at most: valid UTF-8 whatever was written there, and begun
// at the start of a line where one begins in that much, else of a character. "" when there is none.
std::string log_tail(const std::filesystem::path& log, std::size_t most_bytes);

}  // namespace assay::worker
