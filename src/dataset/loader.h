#pragma once

// What the loaders share. Not for users of the room: they include registry.h.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "dataset/array_file.h"
#include "dataset/dataset.h"
#include "dataset/image_pipeline.h"
#include "dataset/registry.h"

namespace assay::dataset {

// What a loader is given: the request, and what the table of data sets says of this one.
struct DatasetSource {
  const DatasetRequest& request;
  std::string name;
  std::filesystem::path folder;    // holds the data; exists
  std::int64_t class_count = 0;    // of the data's own labels
  std::string_view own_copy = "";  // what the user puts into `folder`; "" where it is fetched
};

// One function per kind of data set, each in a file of its own.
Result<std::unique_ptr<Dataset>> load_idx_images(const DatasetSource& source);
Result<std::unique_ptr<Dataset>> load_image_folder(const DatasetSource& source);
Result<std::unique_ptr<Dataset>> load_npz_table(const DatasetSource& source);
Result<std::unique_ptr<Dataset>> load_squad(const DatasetSource& source);
Result<std::unique_ptr<Dataset>> load_text_lines(const DatasetSource& source);

// kNotFound "<what> is not there; get it with: ./assay fetch <task>".
Status missing_data(const DatasetRequest& request, std::string_view what);

// `folder / file`, or missing_data when it doesn't exist.
Result<std::filesystem::path> find_data_file(const DatasetSource& source, std::string_view file);

// Where a name in model info points: "fetched:x" into <cache>/models, anything else relative to the
// model folder. Missing_data when there is no such file.
Result<std::filesystem::path> find_model_file(const DatasetRequest& request, std::string_view name);

// The error of a set without a sample.
Status no_samples(const DatasetSource& source);

// kOutOfRange, naming the sample and the value, unless 0 <= label < source.class_count.
Status check_label(const DatasetSource& source, std::string_view sample_id, std::int64_t label);

// The image steps of the request for the model's only input; errors say what is missing.
Result<ImagePipeline> make_image_pipeline(const DatasetRequest& request,
                                          std::optional<ImageSize> native = std::nullopt);

// Facts that every loader fills the same way. Labels are offset by the request's label_offset.
DatasetFacts make_facts(const DatasetSource& source, std::size_t size,
                        std::vector<TensorSpec> inputs, std::string fingerprint);

// Digest over named parts; the order of calls counts. Starts from what any loader depends on: the
// loader's name and version, preprocessing and label offset.
class Fingerprint {
 public:
  Fingerprint(const DatasetSource& source, std::string_view loader_version);

  void add(std::string_view name, std::string_view value);
  void add_bytes(std::span<const std::byte> bytes) { hash_.update(bytes); }
  std::string hex_digest() { return hash_.hex_digest(); }

 private:
  Sha256 hash_;
};

// Checks every label of a one-dimensional array of unsigned bytes.
Status check_labels(const DatasetSource& source, const ArrayFile& labels,
                    const std::function<std::string(std::size_t)>& sample_id);

// The label in row `index` of such an array.
Result<std::int64_t> read_label_at(const ArrayFile& labels, std::size_t index);

}  // namespace assay::dataset
