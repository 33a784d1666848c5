#include "dataset/byte_stream.h"

#include <fmt/format.h>
#include <zip.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/file.h"

namespace assay::dataset {
namespace fs = std::filesystem;
namespace {

class GzipStream final : public ByteStream {
 public:
  GzipStream(std::string name, gzFile file) : ByteStream(std::move(name)), file_(file) {}
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override { ::gzclose_r(file_); }

  Result<std::size_t> read(std::span<std::byte> into) override {
    std::size_t total = 0;
    while (total < into.size()) {
      const auto wanted =
          static_cast<unsigned>(std::min<std::size_t>(into.size() - total, INT_MAX));
      const int count = ::gzread(file_, into.data() + total, wanted);
      if (count <= 0) break;
      total += static_cast<std::size_t>(count);
    }
    int error = Z_OK;
    const char* message = ::gzerror(file_, &error);
    if (error == Z_OK || error == Z_STREAM_END) return total;
    if (error == Z_ERRNO) return errno_status(errno, "cannot read " + name());
    if (error == Z_BUF_ERROR) return data_loss(fmt::format("{} is truncated", name()));
    return data_loss(fmt::format("{} is corrupt: {}", name(), message));
  }

 private:
  gzFile file_;
};

std::string zip_reason(int code) {
  zip_error_t error;
  ::zip_error_init_with_code(&error, code);
  std::string text = ::zip_error_strerror(&error);
  ::zip_error_fini(&error);
  return text;
}

class ZipMember final : public ByteStream {
 public:
  ZipMember(std::string name, zip_t* archive, zip_file_t* file)
      : ByteStream(std::move(name)), archive_(archive), file_(file) {}
  ZipMember(const ZipMember&) = delete;
  ZipMember& operator=(const ZipMember&) = delete;
  ~ZipMember() override {
    ::zip_fclose(file_);
    ::zip_discard(archive_);
  }

  Result<std::size_t> read(std::span<std::byte> into) override {
    std::size_t total = 0;
    while (total < into.size()) {
      const zip_int64_t count = ::zip_fread(file_, into.data() + total, into.size() - total);
      if (count < 0) {
        return data_loss(fmt::format("{} is corrupt: {}", name(), ::zip_file_strerror(file_)));
      }
      if (count == 0) break;
      total += static_cast<std::size_t>(count);
    }
    return total;
  }

 private:
  zip_t* archive_;
  zip_file_t* file_;
};

class MemoryStream final : public ByteStream {
 public:
  MemoryStream(std::string name, std::string bytes)
      : ByteStream(std::move(name)), bytes_(std::move(bytes)) {}

  Result<std::size_t> read(std::span<std::byte> into) override {
    const std::size_t count = std::min(into.size(), bytes_.size() - position_);
    std::ranges::copy(std::as_bytes(std::span(bytes_)).subspan(position_, count), into.begin());
    position_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t position_ = 0;
};

}  // namespace

std::unique_ptr<ByteStream> open_memory(std::string name, std::string bytes) {
  return std::make_unique<MemoryStream>(std::move(name), std::move(bytes));
}

Result<std::unique_ptr<ByteStream>> open_gzip(const fs::path& path) {
  const gzFile file = ::gzopen(path.c_str(), "rbe");
  if (file == nullptr) return errno_status(errno, "cannot open " + quoted(path));
  return std::unique_ptr<ByteStream>(std::make_unique<GzipStream>(quoted(path), file));
}

Result<std::unique_ptr<ByteStream>> open_zip_member(const fs::path& path,
                                                    const std::string& member) {
  int code = 0;
  zip_t* archive = ::zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (archive == nullptr) {
    const std::string message = fmt::format("cannot open {}: {}", quoted(path), zip_reason(code));
    return code == ZIP_ER_NOENT ? not_found(message) : data_loss(message);
  }
  zip_file_t* file = ::zip_fopen(archive, member.c_str(), 0);
  if (file == nullptr) {
    const std::string reason = ::zip_strerror(archive);
    const bool missing = ::zip_name_locate(archive, member.c_str(), 0) < 0;
    ::zip_discard(archive);
    const std::string message =
        fmt::format("{} has no readable member \"{}\": {}", quoted(path), member, reason);
    return missing ? not_found(message) : data_loss(message);
  }
  return std::unique_ptr<ByteStream>(
      std::make_unique<ZipMember>(fmt::format("{}:{}", quoted(path), member), archive, file));
}

Status read_exactly(ByteStream& stream, std::span<std::byte> into) {
  ASSIGN_OR_RETURN(const std::size_t count, stream.read(into));
  if (count == into.size()) return ok_status();
  return data_loss(
      fmt::format("{} ends early: {} of {} bytes are there", stream.name(), count, into.size()));
}

}  // namespace assay::dataset
