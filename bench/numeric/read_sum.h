#pragma once

#include <span>

namespace assay {

// The sum of floats, read as fast as one thread of this machine can; the measure of its bandwidth.
float read_sum(std::span<const float> values);

}  // namespace assay
