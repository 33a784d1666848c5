#include "dataset/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "base/suggest.h"
#include "dataset/loader.h"

namespace assay::dataset {
namespace fs = std::filesystem;
namespace {

struct DatasetRow {
  DatasetListing listing;
  std::int64_t class_count;
  Result<std::unique_ptr<Dataset>> (*load)(const DatasetSource&);  // null: made, not read
  std::string_view task;  // one that fetches it, for messages when the caller names none
};

// A new data set is one row here and, when its form is new, one loader file.
constexpr std::array kDatasets = {
    DatasetRow{{"fashion-mnist", "10,000 labelled grey images of clothes, 28x28"},
               10,
               load_idx_images,
               "fashion-mnist-cnn-onnx-fp32"},
    DatasetRow{{"imagenet20", "20 labelled photographs of ImageNet classes"},
               1000,
               load_image_folder,
               "efficientnet-lite0-onnx-fp32"},
    DatasetRow{{"sentiment", "1,910 labelled snippets of film and product reviews"},
               2,
               load_text_lines,
               "minilm-sentiment-onnx-w8"},
    DatasetRow{{"adult", "9,769 rows of the UCI Adult census table, income above 50K or not"},
               2,
               load_npz_table,
               "wide-deep-adult-onnx-fp32"},
    DatasetRow{{"generated", "seeded random inputs without labels, for speed and numerics"},
               0,
               nullptr,
               ""},
};

Status unknown_dataset(const std::string& name) {
  std::vector<std::string> names;
  for (const DatasetRow& row : kDatasets) names.emplace_back(row.listing.name);
  return invalid_argument(fmt::format("unknown data set \"{}\"{}; there are {}", name,
                                      did_you_mean(name, names), fmt::join(names, ", ")));
}

Result<fs::path> find_folder(const DatasetRequest& request, std::string_view name) {
  for (const fs::path& folder : request.data_folders) {
    std::error_code error;
    if (fs::is_directory(folder / name, error)) return folder / name;
  }
  return missing_data(request, fmt::format("data set {}", name));
}

Result<std::unique_ptr<Dataset>> open_generated(const DatasetRequest& request) {
  GeneratedOptions options;
  options.inputs = request.inputs;
  options.ranges = request.ranges;
  options.samples = request.generated_samples;
  options.seed = request.seed;
  return make_generated(options);
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_dataset(const DatasetRequest& request) {
  if (request.inputs.empty()) return invalid_argument("the model has no input to feed");
  const std::string name = request.dataset_name.empty() ? "generated" : request.dataset_name;
  const auto* const row = std::ranges::find_if(
      kDatasets, [&](const DatasetRow& each) { return each.listing.name == name; });
  if (row == kDatasets.end()) return unknown_dataset(name);
  if (row->load == nullptr) return open_generated(request);
  DatasetRequest named = request;
  if (named.task.empty()) named.task = row->task;
  ASSIGN_OR_RETURN(const fs::path folder, find_folder(named, name));
  return row->load({named, name, folder, row->class_count});
}

std::span<const DatasetListing> list_datasets() {
  static constexpr auto kListings = [] {
    std::array<DatasetListing, kDatasets.size()> listings{};
    std::ranges::transform(kDatasets, listings.begin(), &DatasetRow::listing);
    return listings;
  }();
  return kListings;
}

}  // namespace assay::dataset
