// Grey images and labels in two IDX files, plain or gzipped: Fashion-MNIST.
#include <fmt/format.h>

#include <utility>

#include "base/file.h"
#include "dataset/loader.h"

namespace assay::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kVersion = "idx_images/1";
constexpr std::string_view kImages = "t10k-images-idx3-ubyte.gz";
constexpr std::string_view kLabels = "t10k-labels-idx1-ubyte.gz";

std::string id_of(std::size_t index) { return fmt::format("t10k-{:05}", index); }

class IdxImages final : public Dataset {
 public:
  IdxImages(DatasetFacts facts, ImagePipeline pipeline, ArrayFile images, ArrayFile labels,
            std::int64_t label_offset)
      : Dataset(std::move(facts)),
        pipeline_(std::move(pipeline)),
        images_(std::move(images)),
        labels_(std::move(labels)),
        label_offset_(label_offset) {}

  std::string sample_id(std::size_t index) const override { return id_of(index); }

 private:
  Status read_sample(std::size_t index, std::span<const std::span<std::byte>> into) const override {
    const Shape& shape = images_.header().shape;
    ASSIGN_OR_RETURN(Image image, make_image({shape[1], shape[2]}, 1));
    RETURN_IF_ERROR(images_.read_row(index, std::as_writable_bytes(std::span(image.pixels))));
    return pipeline_.run(std::move(image), into.front());
  }

  Result<Label> read_label(std::size_t index) const override {
    ASSIGN_OR_RETURN(const std::int64_t label, read_label_at(labels_, index));
    return Label(label + label_offset_);
  }

  ImagePipeline pipeline_;
  ArrayFile images_;
  ArrayFile labels_;
  std::int64_t label_offset_;
};

Result<ArrayFile> unpack_idx(const DatasetSource& source, std::string_view file, std::size_t rank,
                             Fingerprint& fingerprint) {
  ASSIGN_OR_RETURN(const fs::path path, find_data_file(source, file));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, open_gzip(path));
  ASSIGN_OR_RETURN(ArrayHeader header, read_idx_header(*stream));
  if (header.shape.size() != rank) {
    return data_loss(fmt::format("{} holds an array {} of rank {}, rank {} is wanted", quoted(path),
                                 assay::to_string(header.shape), header.shape.size(), rank));
  }
  fingerprint.add(file, assay::to_string(header.shape));
  return ArrayFile::unpack(std::move(header), *stream, source.request.cache_folder / "tmp",
                           [&](std::span<const std::byte> bytes) { fingerprint.add_bytes(bytes); });
}

}  // namespace

Result<std::unique_ptr<Dataset>> load_idx_images(const DatasetSource& source) {
  Fingerprint fingerprint(source, kVersion);
  ASSIGN_OR_RETURN(ArrayFile images, unpack_idx(source, kImages, 3, fingerprint));
  ASSIGN_OR_RETURN(ArrayFile labels, unpack_idx(source, kLabels, 1, fingerprint));
  if (images.rows() == 0) return no_samples(source);
  if (images.rows() != labels.rows()) {
    return data_loss(fmt::format("data set {}: {} images and {} labels", source.name, images.rows(),
                                 labels.rows()));
  }
  RETURN_IF_ERROR(check_labels(source, labels, id_of));
  const Shape& shape = images.header().shape;
  ASSIGN_OR_RETURN(ImagePipeline pipeline,
                   make_image_pipeline(source.request, ImageSize{shape[1], shape[2]}));
  DatasetFacts facts =
      make_facts(source, images.rows(), {pipeline.spec()}, fingerprint.hex_digest());
  return std::unique_ptr<Dataset>(std::make_unique<IdxImages>(std::move(facts), std::move(pipeline),
                                                              std::move(images), std::move(labels),
                                                              source.request.label_offset));
}

}  // namespace assay::dataset
