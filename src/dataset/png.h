#pragma once

#include <string_view>

#include "base/result.h"
#include "dataset/image.h"

namespace assay::dataset {

// A PNG of any colour type and depth to RGB; contract as decode_rgb. No gamma is applied.
Result<Image> decode_png(std::string_view bytes);

}  // namespace assay::dataset
