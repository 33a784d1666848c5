#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/file.h"
#include "check/output_store.h"
#include "check/store_format.h"

namespace assay::check {
namespace {

namespace fs = std::filesystem;

// What is read at a time, so that small records cost no system call each.
constexpr std::size_t kWindowBytes = std::size_t{64} << 10;

// Owns a file that is read by position.
class ReadFile {
 public:
  static Result<ReadFile> open(const fs::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno_status(errno, "cannot open");
    ReadFile file(fd);
    struct stat info{};
    if (::fstat(fd, &info) != 0) return errno_status(errno, "cannot stat");
    if (!S_ISREG(info.st_mode)) return data_loss("not a regular file");
    file.size_bytes_ = static_cast<std::uint64_t>(info.st_size);
    return file;
  }
  ReadFile(ReadFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), size_bytes_(other.size_bytes_) {}
  ReadFile& operator=(ReadFile&&) = delete;
  ~ReadFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  std::uint64_t size_bytes() const { return size_bytes_; }

  Status read_at(std::uint64_t offset, std::span<std::byte> into) const {
    while (!into.empty()) {
      const ssize_t count = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno_status(errno, "cannot read");
      if (count == 0) return data_loss("file ends early");
      into = into.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
    return ok_status();
  }

 private:
  explicit ReadFile(int fd) : fd_(fd) {}

  int fd_;
  std::uint64_t size_bytes_ = 0;
};

Result<StoreJson> read_json(const ReadFile& file, const FixedHeader& header) {
  std::string text(header.json_bytes, '\0');
  RETURN_IF_ERROR(file.read_at(kFixedHeaderBytes, std::as_writable_bytes(std::span(text))));
  if (crc32_of(bytes_of(text)) != header.json_crc) return data_loss("header: damaged");
  return read_store_json(text);
}

}  // namespace

struct OutputReader::State {
  ReadFile file;
  std::string name;  // quoted path, for messages
  FixedHeader header;
  StoreJson json;
  RecordLayout layout;
  std::vector<std::byte> window;  // the file's bytes from window_offset on
  std::uint64_t window_offset = 0;

  std::uint64_t offset_of(std::uint64_t sample, std::size_t output) const {
    return header.records_offset + sample * header.record_bytes + layout.offsets[output];
  }

  Status check_sample(std::uint64_t sample) const {
    if (sample < header.sample_count) return ok_status();
    return out_of_range(fmt::format("{}: sample {} of {}", name, sample, header.sample_count));
  }

  Status damaged(std::uint64_t sample, std::size_t output) const {
    return data_loss(fmt::format("{}: output \"{}\" of sample {} is damaged", name,
                                 json.outputs[output].name, sample));
  }

  // The file's bytes at `offset`; valid until the next call. They are part of the file, but a file
  // with holes may claim to be larger than any memory.
  Result<std::span<const std::byte>> bytes_at(std::uint64_t offset, std::size_t size_bytes) {
    const bool inside = offset >= window_offset && offset - window_offset <= window.size() &&
                        size_bytes <= window.size() - (offset - window_offset);
    if (!inside) RETURN_IF_ERROR(move_window(offset, size_bytes).with_context(name));
    return std::span<const std::byte>(window).subspan(offset - window_offset, size_bytes);
  }

  Status move_window(std::uint64_t offset, std::size_t size_bytes) {
    const std::uint64_t left = file.size_bytes() - std::min(offset, file.size_bytes());
    window_offset = offset;
    try {
      window.resize(
          std::max<std::uint64_t>(size_bytes, std::min<std::uint64_t>(left, kWindowBytes)));
    } catch (const std::bad_alloc&) {
      return resource_exhausted(fmt::format("no memory for {} bytes", size_bytes));
    }
    const Status read = file.read_at(offset, window);
    if (!read.ok()) window.clear();
    return read;
  }

  // Everything that says whether the file is a store; messages without its name.
  static Result<State> load(const fs::path& path) {
    ASSIGN_OR_RETURN(ReadFile file, ReadFile::open(path));
    if (file.size_bytes() < kFixedHeaderBytes) return data_loss("not an output store");
    FixedHeader header{};
    RETURN_IF_ERROR(file.read_at(0, std::as_writable_bytes(std::span(&header, 1))));
    RETURN_IF_ERROR(check_header(header, file.size_bytes()));
    ASSIGN_OR_RETURN(StoreJson json, read_json(file, header));
    Result<RecordLayout> layout = layout_of(json.outputs);
    if (!layout.ok()) return data_loss("header: " + layout.status().message());
    if (layout->record_bytes != header.record_bytes) {
      return data_loss("header: the outputs do not take what a record has");
    }
    return State{std::move(file), quoted(path), header, std::move(json), std::move(*layout), {}, 0};
  }
};

Result<OutputReader> OutputReader::open(const fs::path& path) {
  Result<State> state = State::load(path);
  if (!state.ok()) return state.status().with_context(quoted(path));
  return OutputReader(std::make_unique<State>(std::move(*state)));
}

OutputReader::OutputReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputReader::OutputReader(OutputReader&&) noexcept = default;
OutputReader& OutputReader::operator=(OutputReader&&) noexcept = default;
OutputReader::~OutputReader() = default;

const StoreIdentity& OutputReader::identity() const { return state_->json.identity; }
const std::vector<TensorSpec>& OutputReader::outputs() const { return state_->json.outputs; }
std::uint64_t OutputReader::sample_count() const { return state_->header.sample_count; }
std::uint64_t OutputReader::complete_samples() const { return state_->header.complete_samples; }

Result<bool> OutputReader::has(std::uint64_t sample_index) {
  RETURN_IF_ERROR(state_->check_sample(sample_index));
  for (std::size_t output = 0; output < outputs().size(); ++output) {
    ASSIGN_OR_RETURN(const std::span<const std::byte> bytes,
                     state_->bytes_at(state_->offset_of(sample_index, output), kMarkBytes));
    OutputMark mark{};
    std::memcpy(&mark, bytes.data(), sizeof(mark));
    if (mark.mark == 0) return false;
    if (mark.mark != kWritten) return state_->damaged(sample_index, output);
  }
  return true;
}

Result<std::span<const std::byte>> OutputReader::output(std::uint64_t sample_index,
                                                        std::size_t output_index) {
  RETURN_IF_ERROR(state_->check_sample(sample_index));
  if (output_index >= outputs().size()) {
    return out_of_range(
        fmt::format("{}: output {} of {}", state_->name, output_index, outputs().size()));
  }
  ASSIGN_OR_RETURN(const std::span<const std::byte> record,
                   state_->bytes_at(state_->offset_of(sample_index, output_index),
                                    kMarkBytes + state_->layout.sizes[output_index]));
  OutputMark mark{};
  std::memcpy(&mark, record.data(), sizeof(mark));
  const std::span<const std::byte> bytes = record.subspan(kMarkBytes);
  if (mark.mark == 0) {
    return not_found(fmt::format("{}: output \"{}\" of sample {} was not written", state_->name,
                                 outputs()[output_index].name, sample_index));
  }
  if (mark.mark != kWritten || mark.crc != crc32_of(bytes)) {
    return state_->damaged(sample_index, output_index);
  }
  return bytes;
}

Status check_identity(const StoreIdentity& found, const StoreIdentity& wanted) {
  const auto differ = [](std::string_view what, const std::string& a, const std::string& b) {
    return failed_precondition(fmt::format("{}: got \"{}\", want \"{}\"", what, a, b));
  };
  if (found.model_hash != wanted.model_hash) {
    return differ("model hash", found.model_hash, wanted.model_hash);
  }
  if (found.dataset_hash != wanted.dataset_hash) {
    return differ("data set hash", found.dataset_hash, wanted.dataset_hash);
  }
  if (found.executed_precision != wanted.executed_precision) {
    return differ("executed precision", found.executed_precision, wanted.executed_precision);
  }
  if (found.backend != wanted.backend) return differ("backend", found.backend, wanted.backend);
  const auto text = [](const StoreIdentity& identity) {
    std::string seeds;
    for (const auto& [name, seed] : identity.seeds) seeds += fmt::format("{}={} ", name, seed);
    return seeds;
  };
  if (found.seeds != wanted.seeds) return differ("seeds", text(found), text(wanted));
  return ok_status();
}

}  // namespace assay::check
