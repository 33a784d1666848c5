#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "dataset/resample.h"

namespace assay::dataset {

enum class ColorSpace : std::uint8_t { kRgb, kGray };
enum class ChannelOrder : std::uint8_t { kRgb, kBgr };
enum class Layout : std::uint8_t { kNchw, kNhwc };

// How an image file becomes a tensor; steps in this order. Everything up to the crop is done on
// 8-bit values.
struct ImagePreprocess {
  struct Resize {
    // Exactly one: the short side's new length, the long side following in proportion (rounded
    // half to even); or both sides.
    std::optional<std::int64_t> short_side;
    std::optional<ImageSize> exact;
    Filter filter = Filter::kBilinear;
  };

  ColorSpace decode = ColorSpace::kRgb;
  std::optional<Resize> resize;
  std::optional<ImageSize> center_crop;
  ChannelOrder channel_order = ChannelOrder::kRgb;
  Layout layout = Layout::kNchw;
  // Element = (value - mean) / scale in binary32, values 0..255; one entry per channel in the
  // tensor's channel order, or one for all.
  std::vector<float> mean = {0.0F};
  std::vector<float> scale = {1.0F};
};

// How text becomes token ids.
struct TextPreprocess {
  std::string vocab;  // WordPiece vocabulary, one token a line; see DatasetRequest::locate
  bool lowercase = true;
  std::int64_t max_length = 0;  // ids per sample, [CLS] and [SEP] included: cut or padded to it
  // Of questions about a text: see squad_windows.h. Where they are not given, the published 128
  // and 64.
  std::optional<std::int64_t> doc_stride;
  std::optional<std::int64_t> max_query_length;
};

// monostate: the model info has no `preprocess`.
using Preprocess = std::variant<std::monostate, ImagePreprocess, TextPreprocess>;

// The `preprocess` object of a model info; null gives monostate. kInvalidArgument with every
// problem found, each naming its key, what was found and what is accepted.
Result<Preprocess> parse_preprocess(const Json& json);

// The same steps as text with one spelling per meaning, for fingerprints and reports.
std::string to_string(const Preprocess& preprocess);

}  // namespace assay::dataset
