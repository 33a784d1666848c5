#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace assay::dataset {

// Unpacked bytes, read once from front to back. One thread.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Up to into.size() bytes; fewer only at the end, 0 after it. kDataLoss, naming the file, for a
  // corrupt or truncated archive, checksum included.
  virtual Result<std::size_t> read(std::span<std::byte> into) = 0;

  // For messages: the quoted path, with the member's name where the file is an archive.
  const std::string& name() const { return name_; }

 protected:
  explicit ByteStream(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

// A gzip file's content; a file that isn't gzip is read as it is.
Result<std::unique_ptr<ByteStream>> open_gzip(const std::filesystem::path& path);

// One member of a zip archive. kNotFound when it has no such member.
Result<std::unique_ptr<ByteStream>> open_zip_member(const std::filesystem::path& path,
                                                    const std::string& member);

// Bytes at hand, under a name for messages.
std::unique_ptr<ByteStream> open_memory(std::string name, std::string bytes);

// Reads exactly into.size() bytes; kDataLoss "ends early" otherwise.
Status read_exactly(ByteStream& stream, std::span<std::byte> into);

}  // namespace assay::dataset
