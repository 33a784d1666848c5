#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/dataset.h"

namespace assay::dataset {

// Values that an input may take, both ends included: token ids in a vocabulary, pixels in 0..255.
struct InputRange {
  std::string input;
  double low = 0.0;
  double high = 0.0;
};

struct GeneratedOptions {
  std::string name = "generated";
  std::vector<TensorSpec> inputs;  // a free dimension becomes 1
  std::vector<InputRange> ranges;  // inputs without one get the default of their dtype
  std::size_t samples = 256;
  std::uint64_t seed = 0;
};

// Seeded samples without labels. Sample i is a pure function of (seed, i, input's position, spec,
// range): the same on every machine, distinct for distinct i wherever the range has room for it.
// Defaults where no range is given: floating types uniform in [0, 1); integers uniform in 0..9
// (small, so that an index into a table of unknown length stays inside); BOOL true or false;
// inputs named like a mask ("mask" in the name) all ones; like segments ("token_type", "segment")
// all zeros. kInvalidArgument for a range that names no input, is empty, or does not fit the dtype.
Result<std::unique_ptr<Dataset>> make_generated(const GeneratedOptions& options);

}  // namespace assay::dataset
