#pragma once

// Which of the processor's instructions the kernels use. All levels answer the same bits.

#include <vector>

namespace graphcore::arith {

enum class Level { kPlain, kF16c, kAvx2, kAvx512 };

const char* name_of(Level level);

// Those that this processor has, the fastest last; never empty.
const std::vector<Level>& usable_levels();

}  // namespace graphcore::arith
