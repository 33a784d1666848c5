#include "check/answer_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace assay::check {
namespace {

// U+0130 and U+03A3 are the only characters whose lower case is not one character by itself.
constexpr char32_t kDottedI = 0x130;
constexpr char32_t kDotAbove = 0x307;
constexpr char32_t kSigma = 0x3A3;
constexpr char32_t kFinalSigma = 0x3C2;

constexpr std::array<std::u32string_view, 3> kArticles = {U"a", U"an", U"the"};

// Made once and never freed.
locale_t unicode_locale() {
  static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

// Of well-formed UTF-8; a byte that is none stands for itself.
std::u32string code_points(std::string_view text) {
  std::u32string points;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t point = length == 1 ? lead : lead & (0x7FU >> length);
    const std::size_t end = std::min(i + length, text.size());
    for (++i; i < end; ++i) point = (point << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    points.push_back(point);
  }
  return points;
}

void append_utf8(char32_t point, std::string& into) {
  if (point < 0x80) {
    into.push_back(static_cast<char>(point));
    return;
  }
  const int extra = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr std::array<unsigned, 4> kLead = {0, 0xC0, 0xE0, 0xF0};
  into.push_back(
      static_cast<char>(kLead.at(static_cast<std::size_t>(extra)) | (point >> (6 * extra))));
  for (int i = extra - 1; i >= 0; --i) {
    into.push_back(static_cast<char>(0x80U | ((point >> (6 * i)) & 0x3FU)));
  }
}

bool is_letter(char32_t point) {
  return ::iswalpha_l(static_cast<wint_t>(point), unicode_locale()) != 0;
}

// What a word boundary separates from everything else.
bool is_word_character(char32_t point) {
  return point == U'_' || ::iswalnum_l(static_cast<wint_t>(point), unicode_locale()) != 0;
}

bool is_space(char32_t point) {
  return (point >= 0x09 && point <= 0x0D) || (point >= 0x1C && point <= 0x20) || point == 0x85 ||
         point == 0xA0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) ||
         point == 0x2028 || point == 0x2029 || point == 0x202F || point == 0x205F ||
         point == 0x3000;
}

bool is_ascii_punctuation(char32_t point) {
  return (point >= 0x21 && point <= 0x2F) || (point >= 0x3A && point <= 0x40) ||
         (point >= 0x5B && point <= 0x60) || (point >= 0x7B && point <= 0x7E);
}

// A capital sigma that ends a word becomes the small one for the end of a word.
bool ends_word(const std::u32string& text, std::size_t at) {
  return at > 0 && is_letter(text[at - 1]) && (at + 1 == text.size() || !is_letter(text[at + 1]));
}

std::u32string lower(const std::u32string& text) {
  std::u32string lowered;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kDottedI) {
      lowered.append({U'i', kDotAbove});
    } else if (text[i] == kSigma && ends_word(text, i)) {
      lowered.push_back(kFinalSigma);
    } else {
      lowered.push_back(
          static_cast<char32_t>(::towlower_l(static_cast<wint_t>(text[i]), unicode_locale())));
    }
  }
  return lowered;
}

// An article between word boundaries becomes a space, as it does where a hyphen of another script
// than ASCII joins it to a word.
std::u32string without_articles(const std::u32string& text) {
  std::u32string kept;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_word_character(text[end])) ++end;
    if (end == i) {
      kept.push_back(text[i++]);
      continue;
    }
    const std::u32string_view word = std::u32string_view(text).substr(i, end - i);
    if (std::ranges::find(kArticles, word) != kArticles.end()) {
      kept.push_back(U' ');
    } else {
      kept.append(word);
    }
    i = end;
  }
  return kept;
}

using Words = std::vector<std::string>;

Words split(const std::u32string& text) {
  Words words;
  bool inside = false;
  for (const char32_t point : text) {
    const bool space = is_space(point);
    if (!space && !inside) words.emplace_back();
    if (!space) append_utf8(point, words.back());
    inside = !space;
  }
  return words;
}

Result<Words> normal_words(std::string_view text) {
  if (unicode_locale() == nullptr) {
    return unavailable("answers cannot be normalised: the C library has no locale C.UTF-8");
  }
  std::u32string points = lower(code_points(text));
  std::erase_if(points, is_ascii_punctuation);
  return split(without_articles(points));
}

double f1_of(const Words& predicted, const Words& truth) {
  std::map<std::string_view, std::int64_t> unmatched;
  for (const std::string& word : truth) ++unmatched[word];
  std::int64_t shared = 0;
  for (const std::string& word : predicted) {
    const auto found = unmatched.find(word);
    if (found == unmatched.end() || found->second == 0) continue;
    --found->second;
    ++shared;
  }
  if (shared == 0) return 0.0;
  const auto both = static_cast<double>(shared);
  const double precision = both / static_cast<double>(predicted.size());
  const double recall = both / static_cast<double>(truth.size());
  return 2 * precision * recall / (precision + recall);
}

}  // namespace

Result<std::string> normalize_answer(std::string_view text) {
  ASSIGN_OR_RETURN(const Words words, normal_words(text));
  return fmt::format("{}", fmt::join(words, " "));
}

Result<AnswerScore> score_answer(std::string_view predicted,
                                 std::span<const std::string> true_answers) {
  ASSIGN_OR_RETURN(const Words words, normal_words(predicted));
  AnswerScore score;
  for (const std::string& answer : true_answers) {
    ASSIGN_OR_RETURN(const Words truth, normal_words(answer));
    score.exact = score.exact || words == truth;
    score.f1 = std::max(score.f1, f1_of(words, truth));
  }
  return score;
}

}  // namespace assay::check
