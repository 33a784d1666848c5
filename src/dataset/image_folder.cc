// Photographs in a folder, the class number at the end of each file's name: imagenet20 with
// imagenet_07_281.jpg. A sub-folder `calibration` may hold unlabelled ones for calibration.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "dataset/loader.h"

namespace assay::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kVersion = "image_folder/1";
constexpr std::string_view kCalibration = "calibration";
constexpr std::uint64_t kMaxFileBytes = 1 << 28;

struct Photo {
  fs::path path;
  std::optional<std::int64_t> label;
};

bool is_image(const fs::path& path) {
  constexpr std::array<std::string_view, 3> kExtensions = {".jpg", ".jpeg", ".png"};
  std::string extension = path.extension().native();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

// Image files directly in `folder`, by name; everything else is passed over.
Result<std::vector<fs::path>> list_images(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error) && is_image(it->path())) paths.push_back(it->path());
  }
  if (error) return errno_status(error.value(), "cannot list " + quoted(folder));
  std::ranges::sort(paths);
  return paths;
}

// The digits after the last '_' of the name.
std::optional<std::int64_t> label_in(const fs::path& path) {
  const std::string stem = path.stem().native();
  const std::size_t underscore = stem.rfind('_');
  if (underscore == std::string::npos) return std::nullopt;
  std::int64_t label = 0;
  const char* const end = stem.data() + stem.size();
  const auto [last, error] = std::from_chars(stem.data() + underscore + 1, end, label);
  if (error != std::errc() || last != end) return std::nullopt;
  return label;
}

Result<std::vector<Photo>> label_photos(const DatasetSource& source, std::vector<fs::path> paths) {
  std::vector<Photo> photos;
  for (fs::path& path : paths) {
    const std::optional<std::int64_t> label = label_in(path);
    if (!label) {
      return invalid_argument(
          fmt::format("{} has no class number at the end of its name (name_7{})", quoted(path),
                      path.extension().native()));
    }
    RETURN_IF_ERROR(check_label(source, path.filename().native(), *label));
    photos.push_back({std::move(path), *label + source.request.label_offset});
  }
  return photos;
}

// Adds every file's name and content.
Status hash_photos(const std::vector<Photo>& photos, Fingerprint& fingerprint) {
  for (const Photo& photo : photos) {
    ASSIGN_OR_RETURN(const std::string digest, sha256_of_file(photo.path));
    fingerprint.add(photo.path.filename().native(), digest);
  }
  return ok_status();
}

class ImageFolder final : public Dataset {
 public:
  ImageFolder(DatasetFacts facts, ImagePipeline pipeline, std::vector<Photo> photos,
              std::unique_ptr<ImageFolder> calibration)
      : Dataset(std::move(facts)),
        pipeline_(std::move(pipeline)),
        photos_(std::move(photos)),
        calibration_(std::move(calibration)) {}

  std::string sample_id(std::size_t index) const override {
    return photos_[index].path.filename().native();
  }

  const Dataset* calibration() const override { return calibration_.get(); }

 private:
  Status read_sample(std::size_t index, std::span<const std::span<std::byte>> into) const override {
    ASSIGN_OR_RETURN(const std::string bytes, read_file(photos_[index].path, kMaxFileBytes));
    Result<Image> image = decode_rgb(bytes);
    if (!image.ok()) return image.status().with_context(quoted(photos_[index].path));
    return pipeline_.run(std::move(image).value(), into.front());
  }

  Result<Label> read_label(std::size_t index) const override {
    const std::optional<std::int64_t> label = photos_[index].label;
    return label ? Label(*label) : Label();
  }

  ImagePipeline pipeline_;
  std::vector<Photo> photos_;
  std::unique_ptr<ImageFolder> calibration_;
};

// Null when there is no folder of calibration photographs, or none in it.
Result<std::unique_ptr<ImageFolder>> load_calibration(const DatasetSource& source,
                                                      const ImagePipeline& pipeline) {
  const fs::path folder = source.folder / kCalibration;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return std::unique_ptr<ImageFolder>();
  ASSIGN_OR_RETURN(std::vector<fs::path> paths, list_images(folder));
  if (paths.empty()) return std::unique_ptr<ImageFolder>();
  std::vector<Photo> photos;
  for (fs::path& path : paths) photos.push_back({std::move(path), std::nullopt});
  Fingerprint fingerprint(source, kVersion);
  RETURN_IF_ERROR(hash_photos(photos, fingerprint));
  DatasetFacts facts{fmt::format("{}/{}", source.name, kCalibration),
                     photos.size(),
                     {pipeline.spec()},
                     0,
                     fingerprint.hex_digest()};
  return std::make_unique<ImageFolder>(std::move(facts), pipeline, std::move(photos), nullptr);
}

}  // namespace

Result<std::unique_ptr<Dataset>> load_image_folder(const DatasetSource& source) {
  ASSIGN_OR_RETURN(std::vector<fs::path> paths, list_images(source.folder));
  if (paths.empty()) return no_samples(source);
  ASSIGN_OR_RETURN(std::vector<Photo> photos, label_photos(source, std::move(paths)));
  ASSIGN_OR_RETURN(ImagePipeline pipeline, make_image_pipeline(source.request));
  Fingerprint fingerprint(source, kVersion);
  RETURN_IF_ERROR(hash_photos(photos, fingerprint));
  ASSIGN_OR_RETURN(std::unique_ptr<ImageFolder> calibration, load_calibration(source, pipeline));
  DatasetFacts facts =
      make_facts(source, photos.size(), {pipeline.spec()}, fingerprint.hex_digest());
  return std::unique_ptr<Dataset>(std::make_unique<ImageFolder>(
      std::move(facts), std::move(pipeline), std::move(photos), std::move(calibration)));
}

}  // namespace assay::dataset
