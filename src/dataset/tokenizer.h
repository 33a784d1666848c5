#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::dataset {

struct TokenizerOptions {
  bool lowercase = true;       // and accents stripped
  std::size_t max_length = 0;  // ids per text, [CLS] and [SEP] included; at least 3
};

// A token and the bytes of its text that it stands for: [begin, end).
struct TextToken {
  std::int64_t id = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// What BERT puts around texts.
struct SpecialIds {
  std::int64_t start = 0;    // [CLS]
  std::int64_t end = 0;      // [SEP]
  std::int64_t padding = 0;  // [PAD]
};

// BERT's WordPiece tokenizer: the Hugging Face `tokenizers` library, built from tokenizer/ when a
// text task is fetched and opened at run time, so that nobody else pays for it.
class Tokenizer {
 public:
  // <cache>/deps/tokenizer-<digest of its sources>/libassay_tokenizer.so
  static std::filesystem::path library_path(const std::filesystem::path& cache_folder);

  // Opens the library and makes a tokenizer from the text of a vocabulary, one token a line.
  // kNotFound when the library is not there, kFailedPrecondition when it cannot be used,
  // kInvalidArgument for a bad vocabulary.
  static Result<std::unique_ptr<Tokenizer>> open(const std::filesystem::path& library,
                                                 std::string_view vocab,
                                                 const TokenizerOptions& options);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  ~Tokenizer();

  // One text to ids, mask (1 for tokens, 0 for padding) and segments (all 0), each exactly
  // max_length() long: longer texts are cut, shorter ones padded. Thread-safe.
  Status encode(std::string_view text, std::span<std::int64_t> ids, std::span<std::int64_t> mask,
                std::span<std::int64_t> segments) const;

  // All tokens of a UTF-8 text and nothing else, in its order. Accents that lowering strips belong
  // to the token before them, so that [begin of one, end of another) is whole text. Thread-safe.
  Result<std::vector<TextToken>> split(std::string_view text) const;

  SpecialIds special_ids() const;

  std::size_t max_length() const { return max_length_; }

 private:
  struct Functions;
  Tokenizer(std::unique_ptr<const Functions> functions, void* encoder, std::size_t max_length);

  std::unique_ptr<const Functions> functions_;
  void* encoder_;  // the library's object
  std::size_t max_length_;
};

}  // namespace assay::dataset
