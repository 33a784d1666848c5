#pragma once

// Ways in which a deployment may feed a model, or read its answers, other than the model wants: one
// is tried after another until the reference gives the answers that the backend gave. Each changes
// values in place and knows nothing of models or files. Catalogue: docs/reference/pipeline.md.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace assay::check {

// How pictures become the first input: (pixel - mean) / scale, pixels 0..255.
struct PictureFacts {
  bool channels_first = true;  // NCHW, else NHWC
  // One entry per channel, or one for all; empty: not known, then nothing is said of ranges.
  std::vector<double> mean;
  std::vector<double> scale;
  // The model takes nothing beyond what pixels of 0..255 come to, as one whose input is quantised:
  // what a wrong pipeline would give it beyond is also tried cut off there.
  bool saturates = false;
};

// Which inputs hold what the tokenizer gave.
struct TextFacts {
  std::size_t ids = 0;
  std::optional<std::size_t> mask;
  std::optional<std::size_t> segments;
};

struct PipelineFacts {
  std::vector<TensorSpec> inputs;  // of one sample at batch 1, concrete
  std::optional<PictureFacts> picture;
  std::optional<TextFacts> text;
};

// The inputs of one sample, one buffer each.
using SampleInputs = std::span<const std::span<std::byte>>;

struct InputHypothesis {
  std::string name;      // "bgr"
  std::string sentence;  // "the backend seems to get BGR where the model wants RGB"
  // What the backend would have been fed with, from what it should have been. Thread-safe.
  std::function<Status(SampleInputs)> change;
};

// Those that apply to this model, the likeliest first.
std::vector<InputHypothesis> input_hypotheses(const PipelineFacts& facts);

// What a row of class scores holds.
enum class RowValues { kLogits, kProbabilities };

struct OutputHypothesis {
  std::string name;
  std::string sentence;
  // What the backend would have answered for one row of scores, from what it should have.
  std::function<void(std::span<double>)> change;
  // Scores mean the same when a number is added to all of them: rows are held together without it.
  bool without_offset = false;
};

// Those that apply to rows of `width` scores.
std::vector<OutputHypothesis> output_hypotheses(std::size_t width, RowValues values);

}  // namespace assay::check
