#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "check/output_store.h"
#include "check/partial_file.h"
#include "check/store_format.h"

namespace assay::check {

struct OutputWriter::State {
  PartialFile file;
  std::filesystem::path path;
  std::vector<TensorSpec> outputs;
  RecordLayout layout;
  FixedHeader header;
  std::vector<bool> written;  // [sample][output]
  std::uint64_t complete_samples = 0;

  bool is_complete(std::uint64_t sample) const {
    const auto first = written.begin() + static_cast<std::ptrdiff_t>(sample * outputs.size());
    return std::all_of(first, first + static_cast<std::ptrdiff_t>(outputs.size()),
                       [](bool done) { return done; });
  }

  // Everything that write() refuses.
  Status check_write(std::uint64_t sample, std::size_t output, std::size_t size_bytes) const {
    if (sample >= header.sample_count) {
      return out_of_range(fmt::format("sample {} of {}", sample, header.sample_count));
    }
    if (output >= outputs.size()) {
      return out_of_range(fmt::format("output {} of {}", output, outputs.size()));
    }
    if (size_bytes != layout.sizes[output]) {
      return invalid_argument(fmt::format("output {} of sample {}: got {} bytes, it takes {}",
                                          to_string(outputs[output]), sample, size_bytes,
                                          layout.sizes[output]));
    }
    if (written[sample * outputs.size() + output]) {
      return already_exists(fmt::format("output \"{}\" of sample {} was written before",
                                        outputs[output].name, sample));
    }
    return ok_status();
  }
};

namespace {

Status write_marked(PartialFile& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  const OutputMark mark{kWritten, crc32_of(bytes)};
  RETURN_IF_ERROR(file.write_at(offset, std::as_bytes(std::span(&mark, 1))));
  RETURN_IF_ERROR(file.write_at(offset + kMarkBytes, bytes));
  constexpr std::array<std::byte, kMarkBytes> padding{};
  const std::size_t past = bytes.size() % kMarkBytes;
  if (past == 0) return ok_status();
  return file.write_at(offset + kMarkBytes + bytes.size(),
                       std::span(padding).first(kMarkBytes - past));
}

}  // namespace

Result<OutputWriter> OutputWriter::open(const std::filesystem::path& path,
                                        const StoreIdentity& identity,
                                        std::vector<TensorSpec> outputs,
                                        std::uint64_t sample_count) {
  if (sample_count == 0) return invalid_argument("no samples");
  ASSIGN_OR_RETURN(RecordLayout layout, layout_of(outputs));
  ASSIGN_OR_RETURN(const std::string json, write_store_json(identity, outputs));
  if (json.size() > kLargestJsonBytes) return invalid_argument("names and shapes are too long");
  const FixedHeader header = make_header(json, layout, sample_count);
  std::uint64_t size_bytes = 0;
  if (__builtin_mul_overflow(sample_count, layout.record_bytes, &size_bytes) ||
      size_bytes > INT64_MAX - header.records_offset) {
    return out_of_range(fmt::format("{} samples of {} bytes", sample_count, layout.record_bytes));
  }
  ASSIGN_OR_RETURN(PartialFile file, PartialFile::create(path));
  RETURN_IF_ERROR(file.resize(header.records_offset + size_bytes));
  RETURN_IF_ERROR(file.write_at(kFixedHeaderBytes, bytes_of(json)));
  std::vector<bool> written(sample_count * outputs.size());
  return OutputWriter(std::make_unique<State>(State{
      std::move(file), path, std::move(outputs), std::move(layout), header, std::move(written)}));
}

OutputWriter::OutputWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputWriter::OutputWriter(OutputWriter&&) noexcept = default;
OutputWriter& OutputWriter::operator=(OutputWriter&&) noexcept = default;
OutputWriter::~OutputWriter() = default;

Status OutputWriter::write(std::uint64_t sample_index, std::size_t output_index,
                           std::span<const std::byte> bytes) {
  State& state = *state_;
  RETURN_IF_ERROR(state.check_write(sample_index, output_index, bytes.size()));
  const std::uint64_t offset = state.header.records_offset +
                               sample_index * state.layout.record_bytes +
                               state.layout.offsets[output_index];
  RETURN_IF_ERROR(write_marked(state.file, offset, bytes));
  state.written[sample_index * state.outputs.size() + output_index] = true;
  if (state.is_complete(sample_index)) ++state.complete_samples;
  return ok_status();
}

std::vector<std::uint64_t> OutputWriter::missing_samples(std::size_t limit) const {
  std::vector<std::uint64_t> missing;
  for (std::uint64_t sample = 0; sample < state_->header.sample_count; ++sample) {
    if (missing.size() >= limit) break;
    if (!state_->is_complete(sample)) missing.push_back(sample);
  }
  return missing;
}

std::uint64_t OutputWriter::missing_count() const {
  return state_->header.sample_count - state_->complete_samples;
}

Status OutputWriter::finish() {
  seal(state_->header, state_->complete_samples);
  RETURN_IF_ERROR(state_->file.write_at(0, std::as_bytes(std::span(&state_->header, 1))));
  return state_->file.commit();
}

}  // namespace assay::check
