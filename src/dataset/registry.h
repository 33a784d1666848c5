#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/dataset.h"
#include "dataset/generated.h"
#include "dataset/preprocess.h"

namespace assay::dataset {

// What open_dataset needs to know. Paths are the caller's; nothing is read from the environment.
struct DatasetRequest {
  std::string dataset_name;  // "" means "generated"
  std::string task;          // only for messages: `./assay fetch <task>`
  // Searched in order for a folder of the data set's name: <checkout>/datasets, <cache>/data.
  std::vector<std::filesystem::path> data_folders;
  // The user's cache: <cache>/models holds what `fetched:` names point into, <cache>/deps the
  // tokenizer, <cache>/tmp scratch files that have no name.
  std::filesystem::path cache_folder;
  std::filesystem::path model_folder;  // what other relative names are relative to: model_zoo/
  Preprocess preprocess;
  std::int64_t label_offset = 0;   // added to the data's labels to give the model's
  std::vector<TensorSpec> inputs;  // the model's, in its order, at batch 1; -1 where free
  std::vector<InputRange> ranges;  // for generated data; see generated.h
  std::size_t generated_samples = 256;
  std::uint64_t seed = 0;  // of generated data
};

// Opens a data set and checks it against the model's inputs. Errors: kInvalidArgument for an
// unknown name (nearest named) or preprocessing that does not give what the model takes; kNotFound
// with the exact `./assay fetch <task>` when data is not there; kDataLoss for corrupt files;
// kFailedPrecondition "no samples" for an empty set; kOutOfRange for a label outside the classes.
Result<std::unique_ptr<Dataset>> open_dataset(const DatasetRequest& request);

// One row for `assay list datasets`.
struct DatasetListing {
  std::string_view name;
  std::string_view about;
};
std::span<const DatasetListing> list_datasets();

}  // namespace assay::dataset
