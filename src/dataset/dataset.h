#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "dataset/question_set.h"
#include "tensor/tensor.h"

namespace assay::dataset {

// What a sample is known to be: nothing, or a class number (of a two-class set: 0 or 1).
using Label = std::variant<std::monostate, std::int64_t>;

// The facts of a data set that are the same for every sample.
struct DatasetFacts {
  std::string name;                // as in model info: "fashion-mnist"
  std::size_t size = 0;            // samples; never 0 once opened
  std::vector<TensorSpec> inputs;  // of one sample at batch 1, concrete, in the model's input order
  std::int64_t class_count = 0;    // labels are in [0, class_count); 0 when samples have no labels
  // 64 hexadecimal digits over everything that decides the tensors and labels: data bytes,
  // preprocessing, label offset and the loader's version. Equal fingerprints, equal samples.
  std::string fingerprint;
};

// Labelled samples, decoded and preprocessed on demand. Memory does not grow with size() beyond an
// index entry per sample. Thread-safe: any number of threads may call any const function at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  const DatasetFacts& facts() const { return facts_; }
  const std::string& name() const { return facts_.name; }
  std::size_t size() const { return facts_.size; }
  std::span<const TensorSpec> specs() const { return facts_.inputs; }
  std::int64_t class_count() const { return facts_.class_count; }
  const std::string& fingerprint() const { return facts_.fingerprint; }

  // Decodes and preprocesses sample `index` into `into`, one buffer per entry of specs(), each
  // exactly byte_size(specs()[i]) long; every byte of every buffer is written. Errors name the
  // sample: kOutOfRange for the index, kInvalidArgument for a buffer, kDataLoss for corrupt bytes.
  Status read(std::size_t index, std::span<const std::span<std::byte>> into) const;

  // The label of sample `index`, label offset applied. kOutOfRange for the index.
  Result<Label> label(std::size_t index) const;

  // Text that names sample `index` the same way in every run and batch: a file or row name.
  // Requires index < size().
  virtual std::string sample_id(std::size_t index) const = 0;

  // What the samples ask, where they are questions about a text; null where they are not. Owned by
  // this object.
  virtual const QuestionSet* questions() const { return nullptr; }

  // Samples for calibrating a quantiser, disjoint from these; null when the set has none. Owned by
  // this object.
  virtual const Dataset* calibration() const { return nullptr; }

 protected:
  explicit Dataset(DatasetFacts facts) : facts_(std::move(facts)) {}

 private:
  // Both are called with checked arguments; read() and label() add the sample's id to an error.
  virtual Status read_sample(std::size_t index,
                             std::span<const std::span<std::byte>> into) const = 0;
  virtual Result<Label> read_label(std::size_t index) const = 0;

  DatasetFacts facts_;
};

}  // namespace assay::dataset
