#pragma once

#include <string_view>

#include "base/result.h"
#include "dataset/image.h"

namespace assay::dataset {

// A baseline or progressive JPEG to RGB; contract as decode_rgb. A stream that ends early or holds
// an impossible code is kDataLoss, although the library would fill in grey.
Result<Image> decode_jpeg(std::string_view bytes);

}  // namespace assay::dataset
