// A test double of the tokenizer library: every byte of the text is its own id, between 1 and 2.
// Split, every byte but the spaces is a token.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct Encoder {
  std::size_t max_length;
};

EXPORT std::uint32_t assay_tokenizer_version() { return FAKE_TOKENIZER_VERSION; }

EXPORT void* assay_tokenizer_new(const char* vocab, std::size_t vocab_size, bool,
                                 std::size_t max_length, char** error) {
  if (std::memchr(vocab, '!', vocab_size) == nullptr) return new Encoder{max_length};
  *error = strdup("has a !");
  return nullptr;
}

EXPORT std::int32_t assay_tokenizer_encode(const void* handle, const char* text,
                                           std::size_t text_size, std::int64_t* ids,
                                           std::int64_t* mask, std::int64_t* segments) {
  const auto* const encoder = static_cast<const Encoder*>(handle);
  const std::size_t used = std::min(text_size, encoder->max_length - 2);
  for (std::size_t i = 0; i < encoder->max_length; ++i) {
    ids[i] = i == 0 ? 1 : i <= used ? text[i - 1] : i == used + 1 ? 2 : 0;
    mask[i] = i < used + 2 ? 1 : 0;
    segments[i] = 0;
  }
  return 0;
}

EXPORT std::int64_t assay_tokenizer_split(const void*, const char* text, std::size_t text_size,
                                          std::size_t room, std::int64_t* ids,
                                          std::uint64_t* begins, std::uint64_t* ends) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text_size; ++i) {
    if (text[i] == ' ') continue;
    if (count < room) {
      ids[count] = static_cast<unsigned char>(text[i]);
      begins[count] = i;
      ends[count] = i + 1;
    }
    ++count;
  }
  return static_cast<std::int64_t>(count);
}

EXPORT void assay_tokenizer_special_ids(const void*, std::int64_t* ids) {
  ids[0] = 1;
  ids[1] = 2;
  ids[2] = 0;
}

EXPORT void assay_tokenizer_free(void* handle) { delete static_cast<Encoder*>(handle); }
EXPORT void assay_tokenizer_free_text(char* text) { std::free(text); }
