#include "dataset/loader.h"

#include <fmt/format.h>

#include <array>
#include <system_error>
#include <utility>

#include "base/file.h"

namespace assay::dataset {
namespace fs = std::filesystem;

Status missing_data(const DatasetRequest& request, std::string_view what) {
  return not_found(
      fmt::format("{} is not there; get it with: ./assay fetch {}", what, request.task));
}

Result<fs::path> find_data_file(const DatasetSource& source, std::string_view file) {
  fs::path path = source.folder / file;
  std::error_code error;
  if (fs::exists(path, error)) return path;
  if (!source.own_copy.empty()) {
    return not_found(fmt::format("data set {} is not complete: put {} into the folder {}",
                                 source.name, source.own_copy, quoted(source.folder)));
  }
  return missing_data(source.request,
                      fmt::format("file {} of data set {}", quoted(path), source.name));
}

Result<fs::path> find_model_file(const DatasetRequest& request, std::string_view name) {
  constexpr std::string_view kFetched = "fetched:";
  const bool fetched = name.starts_with(kFetched);
  if (fetched) name.remove_prefix(kFetched.size());
  fs::path path = (fetched ? request.cache_folder / "models" : request.model_folder) / name;
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  return missing_data(request, "file " + quoted(path));
}

Status no_samples(const DatasetSource& source) {
  return failed_precondition(
      fmt::format("no samples: data set {} in {} is empty", source.name, quoted(source.folder)));
}

Status check_label(const DatasetSource& source, std::string_view sample_id, std::int64_t label) {
  if (label >= 0 && label < source.class_count) return ok_status();
  return out_of_range(fmt::format("sample \"{}\": label {} is outside the {} classes of {} (0..{})",
                                  sample_id, label, source.class_count, source.name,
                                  source.class_count - 1));
}

Result<ImagePipeline> make_image_pipeline(const DatasetRequest& request,
                                          std::optional<ImageSize> native) {
  const auto* const steps = std::get_if<ImagePreprocess>(&request.preprocess);
  if (steps == nullptr) {
    return invalid_argument(fmt::format(
        "data set {} holds images: model info needs preprocess with decode, layout, mean and scale",
        request.dataset_name));
  }
  if (request.inputs.size() != 1) {
    return invalid_argument(fmt::format("data set {} feeds one input, the model has {}",
                                        request.dataset_name, request.inputs.size()));
  }
  return ImagePipeline::make(*steps, request.inputs.front(), native);
}

DatasetFacts make_facts(const DatasetSource& source, std::size_t size,
                        std::vector<TensorSpec> inputs, std::string fingerprint) {
  return {source.name, size, std::move(inputs), source.class_count + source.request.label_offset,
          std::move(fingerprint)};
}

Fingerprint::Fingerprint(const DatasetSource& source, std::string_view loader_version) {
  add("data set", source.name);
  add("loader", loader_version);
  add("preprocess", to_string(source.request.preprocess));
  add("label offset", std::to_string(source.request.label_offset));
  for (const TensorSpec& input : source.request.inputs) add("input", to_string(input));
}

void Fingerprint::add(std::string_view name, std::string_view value) {
  // With lengths, so that no two different lists of parts give the same text.
  hash_.update(fmt::format("{}:{}={}:{}\n", name.size(), name, value.size(), value));
}

Result<std::int64_t> read_label_at(const ArrayFile& labels, std::size_t index) {
  std::array<std::byte, 1> value{};
  RETURN_IF_ERROR(labels.read_row(index, value));
  return std::to_integer<std::int64_t>(value[0]);
}

Status check_labels(const DatasetSource& source, const ArrayFile& labels,
                    const std::function<std::string(std::size_t)>& sample_id) {
  for (std::size_t i = 0; i < labels.rows(); ++i) {
    ASSIGN_OR_RETURN(const std::int64_t label, read_label_at(labels, i));
    if (label < 0 || label >= source.class_count) return check_label(source, sample_id(i), label);
  }
  return ok_status();
}

}  // namespace assay::dataset
