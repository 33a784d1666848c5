#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

// Whole content of a regular file. kNotFound, kPermissionDenied, or kInvalidArgument for a folder;
// kResourceExhausted when it is larger than `limit_bytes`.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::uint64_t limit_bytes = std::uint64_t{1} << 30);

// Replaces `path` with `content` so that a reader sees the old bytes or the new, never a mixture:
// written beside it, synced, renamed. Leaves nothing behind on failure.
Status write_file_atomic(const std::filesystem::path& path, std::string_view content);

// Writes all of `content` to an open file; `what` names it in the message.
Status write_all(int fd, std::string_view content, std::string_view what);

// Fails now, before any work, when files cannot be created in `folder` (which is made when it is
// missing) or when fewer than `needed_bytes` are free there.
Status check_writable_folder(const std::filesystem::path& folder, std::uint64_t needed_bytes);

// `path` as UTF-8 text for a message, quoted.
std::string quoted(const std::filesystem::path& path);

}  // namespace assay
