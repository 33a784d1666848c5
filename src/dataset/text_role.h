#pragma once

#include <cstdint>

#include "base/result.h"
#include "tensor/tensor.h"

namespace assay::dataset {

// What an input of a text model is fed with.
enum class TextRole : std::uint8_t { kIds, kMask, kSegments };
inline constexpr std::size_t kTextRoles = 3;

// Told by the input's name. kInvalidArgument when it tells none.
Result<TextRole> text_role(const TensorSpec& input);

}  // namespace assay::dataset
