#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"

namespace assay::dataset {

struct TokenizerOptions {
  bool lowercase = true;       // and accents stripped
  std::size_t max_length = 0;  // ids per text, [CLS] and [SEP] included; at least 3
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

  std::size_t max_length() const { return max_length_; }

 private:
  struct Functions;
  Tokenizer(std::unique_ptr<const Functions> functions, void* encoder, std::size_t max_length);

  std::unique_ptr<const Functions> functions_;
  void* encoder_;  // the library's object
  std::size_t max_length_;
};

}  // namespace assay::dataset
