#pragma once

#include <cstddef>
#include <vector>

namespace assay::dataset {

inline constexpr std::size_t kWindowSpecials = 3;  // [CLS] and two [SEP]

// A long text is shown in windows: [CLS] question [SEP] tokens of the text [SEP].
struct WindowOptions {
  std::size_t max_length = 0;        // ids of a sample; more than a question and the specials
  std::size_t doc_stride = 0;        // tokens from one window's first to the next one's; at least 1
  std::size_t max_query_length = 0;  // longer questions are cut
};

// Tokens [first, first + count) of a text.
struct TokenRange {
  std::size_t first = 0;
  std::size_t count = 0;

  friend bool operator==(const TokenRange&, const TokenRange&) = default;
};

// The windows over a text of `tokens` tokens, for a question of `query` tokens once cut. Each holds
// as many as fit, and starts doc_stride tokens (never more than the last one showed) after the one
// before; the last reaches the end. A text without tokens has one empty window.
std::vector<TokenRange> make_windows(std::size_t tokens, std::size_t query,
                                     const WindowOptions& options);

}  // namespace assay::dataset
