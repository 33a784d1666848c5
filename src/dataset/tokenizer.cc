#include "dataset/tokenizer.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <system_error>
#include <utility>

#include "base/file.h"

namespace assay::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::uint32_t kInterfaceVersion = 2;

}  // namespace

// The C interface of tokenizer/src/lib.rs.
struct Tokenizer::Functions {
  std::uint32_t (*version)();
  void* (*make)(const char* vocab, std::size_t vocab_size, bool lowercase, std::size_t max_length,
                char** error);
  std::int32_t (*encode)(const void* encoder, const char* text, std::size_t text_size,
                         std::int64_t* ids, std::int64_t* mask, std::int64_t* segments);
  std::int64_t (*split)(const void* encoder, const char* text, std::size_t text_size,
                        std::size_t room, std::int64_t* ids, std::uint64_t* begins,
                        std::uint64_t* ends);
  void (*special_ids)(const void* encoder, std::int64_t* ids);
  void (*free)(void* encoder);
  void (*free_text)(char* text);
};

namespace {

template <typename Function>
bool find_function(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

}  // namespace

fs::path Tokenizer::library_path(const fs::path& cache_folder) {
  return cache_folder / "deps" / "tokenizer-" ASSAY_TOKENIZER_ID / "libassay_tokenizer.so";
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::open(const fs::path& library, std::string_view vocab,
                                                   const TokenizerOptions& options) {
  std::error_code error;
  if (!fs::exists(library, error)) {
    return not_found(fmt::format("the tokenizer library {} is not there", quoted(library)));
  }
  // Never closed: the library keeps thread-local state that outlives any one tokenizer.
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return failed_precondition(fmt::format("cannot open the tokenizer library: {}", ::dlerror()));
  }
  auto functions = std::make_unique<Functions>();
  const bool complete =
      find_function(handle, "assay_tokenizer_version", functions->version) &&
      find_function(handle, "assay_tokenizer_new", functions->make) &&
      find_function(handle, "assay_tokenizer_encode", functions->encode) &&
      find_function(handle, "assay_tokenizer_split", functions->split) &&
      find_function(handle, "assay_tokenizer_special_ids", functions->special_ids) &&
      find_function(handle, "assay_tokenizer_free", functions->free) &&
      find_function(handle, "assay_tokenizer_free_text", functions->free_text);
  if (!complete || functions->version() != kInterfaceVersion) {
    return failed_precondition(fmt::format("{} is not version {} of the tokenizer library",
                                           quoted(library), kInterfaceVersion));
  }
  char* text = nullptr;
  void* const encoder =
      functions->make(vocab.data(), vocab.size(), options.lowercase, options.max_length, &text);
  if (encoder == nullptr) {
    Status status = invalid_argument(
        fmt::format("vocabulary: {}", text != nullptr ? text : "no reason was given"));
    functions->free_text(text);
    return status;
  }
  return std::unique_ptr<Tokenizer>(
      new Tokenizer(std::move(functions), encoder, options.max_length));
}

Tokenizer::Tokenizer(std::unique_ptr<const Functions> functions, void* encoder,
                     std::size_t max_length)
    : functions_(std::move(functions)), encoder_(encoder), max_length_(max_length) {}

Tokenizer::~Tokenizer() { functions_->free(encoder_); }

Status Tokenizer::encode(std::string_view text, std::span<std::int64_t> ids,
                         std::span<std::int64_t> mask, std::span<std::int64_t> segments) const {
  if (ids.size() != max_length_ || mask.size() != max_length_ || segments.size() != max_length_) {
    return invalid_argument(fmt::format("the tokenizer writes {} ids, room is for {}, {} and {}",
                                        max_length_, ids.size(), mask.size(), segments.size()));
  }
  const std::int32_t code = functions_->encode(encoder_, text.data(), text.size(), ids.data(),
                                               mask.data(), segments.data());
  if (code == 0) return ok_status();
  return internal_error("the tokenizer library could not encode the text");
}

Result<std::vector<TextToken>> Tokenizer::split(std::string_view text) const {
  // Few texts have more tokens than bytes; those are split again with the room that they need.
  std::vector<std::int64_t> ids(text.size() + 1);
  std::vector<std::uint64_t> begins(ids.size());
  std::vector<std::uint64_t> ends(ids.size());
  std::int64_t count = 0;
  while (true) {
    count = functions_->split(encoder_, text.data(), text.size(), ids.size(), ids.data(),
                              begins.data(), ends.data());
    if (count < 0) return internal_error("the tokenizer library could not split the text");
    if (static_cast<std::size_t>(count) <= ids.size()) break;
    ids.resize(static_cast<std::size_t>(count));
    begins.resize(ids.size());
    ends.resize(ids.size());
  }
  std::vector<TextToken> tokens;
  tokens.reserve(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (begins[i] > ends[i] || ends[i] > text.size()) {
      return internal_error("the tokenizer library gave a token that is outside of the text");
    }
    tokens.push_back({ids[i], begins[i], ends[i]});
  }
  return tokens;
}

SpecialIds Tokenizer::special_ids() const {
  std::array<std::int64_t, 3> ids{};
  functions_->special_ids(encoder_, ids.data());
  return {ids[0], ids[1], ids[2]};
}

}  // namespace assay::dataset
