#include "controller/reference_tells_apart.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "check/elements.h"
#include "check/output_store.h"

namespace assay::controller {
namespace {

constexpr double kClearShare = 1.0 / 16;

// One output of a sample, as doubles.
Result<std::vector<double>> read_values(check::OutputReader& reader, std::size_t sample,
                                        std::size_t output) {
  ASSIGN_OR_RETURN(const auto bytes, reader.output(sample, output));
  const DType dtype = reader.outputs()[output].dtype;
  std::vector<double> values(bytes.size() / size_of(dtype));
  check::load_doubles(dtype, bytes.first(values.size() * size_of(dtype)), values.data());
  return values;
}

bool clearly_differ(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0;
  double magnitude = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    difference = std::max(difference, std::abs(a[i] - b[i]));
    magnitude = std::max({magnitude, std::abs(a[i]), std::abs(b[i])});
  }
  return difference > kClearShare * magnitude;
}

}  // namespace

Result<bool> tells_apart(const std::filesystem::path& store, std::span<const std::size_t> samples) {
  ASSIGN_OR_RETURN(check::OutputReader reader, check::OutputReader::open(store));
  for (std::size_t output = 0; output < reader.outputs().size(); ++output) {
    std::size_t changes = 0;
    std::vector<double> before;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      ASSIGN_OR_RETURN(std::vector<double> values, read_values(reader, samples[i], output));
      if (i > 0 && clearly_differ(before, values)) ++changes;
      before = std::move(values);
    }
    if (4 * changes > samples.size()) return true;
  }
  return false;
}

}  // namespace assay::controller
