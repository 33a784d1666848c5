#include "dataset/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "base/file.h"
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
  // What the user puts into the folder where no task fetches it, and who gives it.
  std::string_view own_copy = "";
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
    DatasetRow{
        {"open_squad", "SQuAD v1.1: 10,570 questions about texts; your own copy of dev-v1.1.json"},
        0,
        load_squad,
        "",
        "dev-v1.1.json, the development set of SQuAD v1.1 from the SQuAD project's page "
        "(rajpurkar.github.io/SQuAD-explorer),"},
    DatasetRow{{"generated", "seeded random inputs without labels, for speed and numerics"},
               0,
               nullptr,
               ""},
};

// Other names that published model infos use.
struct DatasetAlias {
  std::string_view name;
  std::string_view means;
};
constexpr std::array kAliases = {DatasetAlias{"squad", "open_squad"}};

std::string canonical_name(const std::string& name) {
  if (name.empty()) return "generated";
  const auto* const alias = std::ranges::find(kAliases, name, &DatasetAlias::name);
  return alias == kAliases.end() ? name : std::string(alias->means);
}

Status unknown_dataset(const std::string& name) {
  std::vector<std::string> names;
  for (const DatasetRow& row : kDatasets) names.emplace_back(row.listing.name);
  return invalid_argument(fmt::format("unknown data set \"{}\"{}; there are {}", name,
                                      did_you_mean(name, names), fmt::join(names, ", ")));
}

// The first folder of the data set's name; of one that the user puts there, the first that holds a
// file.
Result<fs::path> find_folder(const DatasetRequest& request, const DatasetRow& row) {
  const std::string_view name = row.listing.name;
  std::vector<std::string> places;
  for (const fs::path& folder : request.data_folders) {
    std::error_code error;
    const bool empty = !row.own_copy.empty() && fs::is_empty(folder / name, error);
    if (fs::is_directory(folder / name, error) && !empty) return folder / name;
    places.push_back(quoted(folder / name));
  }
  if (row.own_copy.empty()) return missing_data(request, fmt::format("data set {}", name));
  return not_found(
      fmt::format("data set {} is not there, and is not fetched: put {} into the folder {}", name,
                  row.own_copy, fmt::join(places, " or ")));
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
  const std::string name = canonical_name(request.dataset_name);
  const auto* const row = std::ranges::find_if(
      kDatasets, [&](const DatasetRow& each) { return each.listing.name == name; });
  if (row == kDatasets.end()) return unknown_dataset(name);
  if (row->load == nullptr) return open_generated(request);
  DatasetRequest named = request;
  if (named.task.empty()) named.task = row->task;
  ASSIGN_OR_RETURN(const fs::path folder, find_folder(named, *row));
  return row->load({named, name, folder, row->class_count, row->own_copy});
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
