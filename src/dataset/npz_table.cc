// Rows of a table in a NumPy .npz archive: one array per model input, by name, and `label`.
#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "base/file.h"
#include "dataset/loader.h"
#include "tensor/convert.h"

namespace assay::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kVersion = "npz_table/1";
constexpr std::string_view kLabelArray = "label";

std::string id_of(std::size_t index) { return fmt::format("row-{:05}", index); }

class NpzTable final : public Dataset {
 public:
  NpzTable(DatasetFacts facts, std::vector<ArrayFile> columns, ArrayFile labels,
           std::int64_t label_offset)
      : Dataset(std::move(facts)),
        columns_(std::move(columns)),
        labels_(std::move(labels)),
        label_offset_(label_offset) {}

  std::string sample_id(std::size_t index) const override { return id_of(index); }

 private:
  Status read_sample(std::size_t index, std::span<const std::span<std::byte>> into) const override {
    std::vector<std::byte> row;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const ArrayFile& column = columns_[i];
      row.resize(column.row_bytes());
      RETURN_IF_ERROR(column.read_row(index, row));
      RETURN_IF_ERROR(convert(column.header().dtype, row, specs()[i].dtype, into[i]));
    }
    return ok_status();
  }

  Result<Label> read_label(std::size_t index) const override {
    ASSIGN_OR_RETURN(const std::int64_t label, read_label_at(labels_, index));
    return Label(label + label_offset_);
  }

  std::vector<ArrayFile> columns_;  // in the order of specs()
  ArrayFile labels_;
  std::int64_t label_offset_;
};

Result<ArrayFile> unpack_array(const DatasetSource& source, const fs::path& path,
                               std::string_view array, Fingerprint& fingerprint) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream,
                   open_zip_member(path, fmt::format("{}.npy", array)));
  ASSIGN_OR_RETURN(ArrayHeader header, read_npy_header(*stream));
  fingerprint.add(array, fmt::format("{} {} {}", name_of(header.dtype),
                                     assay::to_string(header.shape), header.columns_first));
  return ArrayFile::unpack(std::move(header), *stream, source.request.cache_folder / "tmp",
                           [&](std::span<const std::byte> bytes) { fingerprint.add_bytes(bytes); });
}

// The sample's spec of an input that `array` feeds; the model's shape and dtype must allow it.
Result<TensorSpec> spec_of(const TensorSpec& input, const ArrayHeader& array) {
  TensorSpec spec{input.name, input.dtype, array.shape};
  if (!spec.shape.empty()) spec.shape.front() = 1;
  const Result<Loss> loss = conversion_loss(array.dtype, input.dtype);
  const bool lossless = array.dtype == input.dtype || (loss.ok() && *loss == Loss::kNone);
  if (lossless && matches(spec.shape, input.shape)) return spec;
  return invalid_argument(fmt::format("the data has {} {} a row, model wants {}",
                                      name_of(array.dtype), assay::to_string(spec.shape),
                                      to_string(input)));
}

}  // namespace

Result<std::unique_ptr<Dataset>> load_npz_table(const DatasetSource& source) {
  ASSIGN_OR_RETURN(const fs::path path, find_data_file(source, source.name + "_test.npz"));
  Fingerprint fingerprint(source, kVersion);
  ASSIGN_OR_RETURN(ArrayFile labels, unpack_array(source, path, kLabelArray, fingerprint));
  if (labels.header().shape.size() != 1 || labels.header().dtype != DType::kUInt8) {
    return data_loss(fmt::format("{}: label is {} {}, one UINT8 a row is wanted", quoted(path),
                                 name_of(labels.header().dtype),
                                 assay::to_string(labels.header().shape)));
  }
  if (labels.rows() == 0) return no_samples(source);
  RETURN_IF_ERROR(check_labels(source, labels, id_of));
  std::vector<ArrayFile> columns;
  std::vector<TensorSpec> specs;
  for (const TensorSpec& input : source.request.inputs) {
    ASSIGN_OR_RETURN(ArrayFile column, unpack_array(source, path, input.name, fingerprint));
    ASSIGN_OR_RETURN(TensorSpec spec, spec_of(input, column.header()));
    if (column.rows() != labels.rows()) {
      return data_loss(fmt::format("{}: {} rows of \"{}\" and {} labels", quoted(path),
                                   column.rows(), input.name, labels.rows()));
    }
    columns.push_back(std::move(column));
    specs.push_back(std::move(spec));
  }
  DatasetFacts facts =
      make_facts(source, labels.rows(), std::move(specs), fingerprint.hex_digest());
  return std::unique_ptr<Dataset>(std::make_unique<NpzTable>(
      std::move(facts), std::move(columns), std::move(labels), source.request.label_offset));
}

}  // namespace assay::dataset
