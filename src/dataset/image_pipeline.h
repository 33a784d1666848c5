#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "dataset/image.h"
#include "dataset/preprocess.h"
#include "tensor/tensor.h"

namespace assay::dataset {

// The steps from a decoded image to the bytes of one input tensor. Immutable once made;
// thread-safe.
class ImagePipeline {
 public:
  // `input` is the model's, rank 4 with -1 where free (a rank of 3, [N, H, W], is taken for grey).
  // `native` is the size that all images of the set have, where they have one.
  // kInvalidArgument when the steps don't lead to the model's shape or dtype, naming both.
  static Result<ImagePipeline> make(const ImagePreprocess& steps, const TensorSpec& input,
                                    std::optional<ImageSize> native = std::nullopt);

  // Of one sample: concrete, batch dimension 1.
  const TensorSpec& spec() const { return spec_; }

  // Runs the steps after decoding. `image` is RGB or grey, whatever the steps want; `into` is
  // exactly byte_size(spec()) long. kInvalidArgument when the image is too small for the crop or,
  // without crop and exact size, of another size than the model takes.
  Status run(Image image, std::span<std::byte> into) const;

 private:
  ImagePipeline() = default;
  Status choose_shape(const TensorSpec& input, std::optional<ImageSize> native);
  Status fill_table();
  Result<Image> geometry(Image image) const;
  void store(const Image& image, std::span<std::byte> into) const;

  ImagePreprocess steps_;
  TensorSpec spec_;
  ImageSize size_;             // of the tensor
  std::size_t channels_ = 0;   // of the tensor
  std::size_t item_size_ = 0;  // bytes of an element
  // The tensor's bytes for each of the 256 values: [channel][value], item_size_ bytes each.
  std::vector<std::byte> table_;
};

}  // namespace assay::dataset
