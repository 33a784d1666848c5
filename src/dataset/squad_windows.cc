#include "dataset/squad_windows.h"

#include <algorithm>

namespace assay::dataset {

std::vector<TokenRange> make_windows(std::size_t tokens, std::size_t query,
                                     const WindowOptions& options) {
  const std::size_t room = options.max_length - query - kWindowSpecials;
  const std::size_t step = std::min(options.doc_stride, room);
  std::vector<TokenRange> windows;
  for (std::size_t first = 0;; first += step) {
    windows.push_back({first, std::min(tokens - first, room)});
    if (first + room >= tokens) return windows;
  }
}

}  // namespace assay::dataset
