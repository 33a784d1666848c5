#include "dataset/array_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace assay::dataset {
namespace {

constexpr std::size_t kChunkBytes = 1 << 16;

Status expect_end(ByteStream& stream) {
  std::byte extra{};
  ASSIGN_OR_RETURN(const std::size_t count, stream.read({&extra, 1}));
  if (count == 0) return ok_status();
  return data_loss(fmt::format("{} holds more bytes than its header says", stream.name()));
}

}  // namespace

Result<ArrayFile> ArrayFile::unpack(ArrayHeader header, ByteStream& stream,
                                    const std::filesystem::path& scratch_folder,
                                    const std::function<void(std::span<const std::byte>)>& visit) {
  const TensorSpec whole{stream.name(), header.dtype, header.shape};
  ASSIGN_OR_RETURN(const std::size_t total, byte_size(whole));
  const auto rows = static_cast<std::size_t>(header.shape.empty() ? 0 : header.shape.front());
  if (header.columns_first && header.shape.size() != 2) header.columns_first = false;
  ASSIGN_OR_RETURN(RandomFile file, RandomFile::make_scratch(scratch_folder));
  std::vector<std::byte> chunk(std::min(total, kChunkBytes));
  for (std::size_t done = 0; done < total; done += chunk.size()) {
    chunk.resize(std::min(total - done, kChunkBytes));
    RETURN_IF_ERROR(read_exactly(stream, chunk));
    visit(chunk);
    RETURN_IF_ERROR(file.append(chunk));
  }
  RETURN_IF_ERROR(expect_end(stream));
  const std::size_t row_bytes = rows == 0 ? 0 : total / rows;
  return ArrayFile(std::move(header), std::move(file), rows, row_bytes);
}

Status ArrayFile::read_row(std::size_t index, std::span<std::byte> into) const {
  if (!header_.columns_first) return file_.read_at(std::uint64_t{index} * row_bytes_, into);
  const std::size_t item = size_of(header_.dtype);
  for (std::size_t column = 0; column * item < into.size(); ++column) {
    const std::uint64_t offset = (std::uint64_t{column} * rows_ + index) * item;
    RETURN_IF_ERROR(file_.read_at(offset, into.subspan(column * item, item)));
  }
  return ok_status();
}

}  // namespace assay::dataset
