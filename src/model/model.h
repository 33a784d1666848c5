#pragma once

// What a model file says about itself, read without running anything and without any runtime.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace assay {

// A set of operators and its version. The default ONNX domain is "ai.onnx".
struct Opset {
  std::string domain;
  std::int64_t version = 0;

  friend bool operator==(const Opset&, const Opset&) = default;
};

// A file beside the model that holds weights.
struct ExternalFile {
  std::string location;        // as the model names it, relative to the model's folder
  std::filesystem::path path;  // resolved, absolute
  std::uint64_t size_bytes = 0;
};

// Values that are sensible for one input when data has to be generated. `integral` inputs take
// integers min..max, both included; others take reals of [min, max).
struct InputRange {
  double min = 0;
  double max = 1;
  bool integral = false;
  std::string reason;  // where the range comes from, for the report: `rows of table "emb"`

  friend bool operator==(const InputRange&, const InputRange&) = default;
};

// What dimension 0 of the inputs allows.
struct BatchInfo {
  bool dynamic = false;    // dimension 0 of at least one input is free, and of no other one fixed
  std::int64_t fixed = 1;  // otherwise: dimension 0 that all inputs share, 1 when they share none
  std::string symbol;      // the name of the free dimension, "" when it has none
};

// What a signature's shape cannot say.
struct Dims {
  bool rank_known = true;          // false: the model gives no shape, and the signature's is []
  std::vector<std::string> names;  // of symbolic dimensions; "" where there is none
};

struct ModelFile {
  std::filesystem::path path;  // absolute
  std::string format;          // "onnx"
  Signature signature;         // free and symbolic dimensions are -1

  std::vector<Dims> input_dims;   // one per input
  std::vector<Dims> output_dims;  // one per output

  std::vector<InputRange> input_ranges;  // one per input
  BatchInfo batch;

  std::int64_t ir_version = 0;
  std::vector<Opset> opsets;
  std::string producer;  // "pytorch 2.1", "" when it says nothing
  std::vector<ExternalFile> external_files;
  std::uint64_t size_bytes = 0;  // model and external files
  std::int64_t initializer_count = 0;
  std::map<std::string, std::int64_t>
      op_histogram;                 // sub-graphs included; "domain.Op" outside ai.onnx
  bool has_quantize_nodes = false;  // QuantizeLinear, QLinear..., MatMulInteger ...

  // SHA-256 over the model's bytes and, in order of their names, every external file's.
  std::string content_hash;

  // By name; null when there is no such input.
  const InputRange* range_of(std::string_view input) const;
};

// The newest that the reader's user can run. The defaults are those of the pinned reference runtime
// (ONNX Runtime 1.31); another backend has limits of its own.
struct ModelLimits {
  std::int64_t newest_ir_version = 13;
  std::vector<Opset> newest_opsets = {{"ai.onnx", 26}, {"ai.onnx.ml", 5}};
};

// Reads `path`. `format` is a model info's model_format ("onnx"), or "" to tell by the file's
// extension. Memory grows with the graph and the weights inside the model file, not with external
// files, which are streamed once for the hash.
//   kNotFound            the model or an external file is missing; named
//   kInvalidArgument     a folder; an external location that is absolute or leaves the model's
//                        folder, through a link too; a signature that no tensor of ours can hold
//   kDataLoss            empty, truncated, or not a model at all
//   kOutOfRange          IR or opset newer than `limits`: "model IR 99, newest supported 13"
//   kUnimplemented       no reader for this format; what is accepted is named
Result<ModelFile> read_model(const std::filesystem::path& path, std::string_view format,
                             const ModelLimits& limits = {});

}  // namespace assay
