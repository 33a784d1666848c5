// A test double of the tokenizer library: every byte of the text is its own id, between 1 and 2.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct Encoder {
  std::size_t max_length;
};

EXPORT std::uint32_t assay_tokenizer_version() { return FAKE_TOKENIZER_VERSION; }

EXPORT Encoder* assay_tokenizer_new(const char* vocab, std::size_t vocab_size, bool,
                                    std::size_t max_length, char** error) {
  if (std::memchr(vocab, '!', vocab_size) == nullptr) return new Encoder{max_length};
  *error = strdup("has a !");
  return nullptr;
}

EXPORT std::int32_t assay_tokenizer_encode(const Encoder* encoder, const char* text,
                                           std::size_t text_size, std::int64_t* ids,
                                           std::int64_t* mask, std::int64_t* segments) {
  const std::size_t used = std::min(text_size, encoder->max_length - 2);
  for (std::size_t i = 0; i < encoder->max_length; ++i) {
    ids[i] = i == 0 ? 1 : i <= used ? text[i - 1] : i == used + 1 ? 2 : 0;
    mask[i] = i < used + 2 ? 1 : 0;
    segments[i] = 0;
  }
  return 0;
}

EXPORT void assay_tokenizer_free(Encoder* encoder) { delete encoder; }
EXPORT void assay_tokenizer_free_text(char* text) { std::free(text); }
