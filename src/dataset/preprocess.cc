#include "dataset/preprocess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/suggest.h"

namespace assay::dataset {
namespace {

constexpr std::int64_t kMaxSide = 1 << 16;
constexpr std::int64_t kMaxTextLength = 1 << 16;

// Collects every problem of the object, so that one run reports all of them.
class Problems {
 public:
  void add(std::string_view key, const Json& found, std::string_view accepted) {
    texts_.push_back(
        fmt::format("preprocess.{}: got {}, accepted is {}", key, found.dump(), accepted));
  }
  void add(std::string text) { texts_.push_back(std::move(text)); }

  Status status() const {
    if (texts_.empty()) return ok_status();
    return invalid_argument(fmt::format("{}", fmt::join(texts_, "\n")));
  }

 private:
  std::vector<std::string> texts_;
};

// One key of an object: how to take its value.
struct Key {
  std::string_view name;
  std::function<void(const Json&)> take;
};

void take_keys(const Json& object, std::string_view path, const std::vector<Key>& keys,
               Problems& problems) {
  std::vector<std::string> names;
  for (const Key& key : keys) names.emplace_back(key.name);
  for (const auto& [name, value] : object.items()) {
    const auto key = std::ranges::find(keys, name, &Key::name);
    if (key != keys.end()) {
      key->take(value);
      continue;
    }
    problems.add(fmt::format("preprocess.{}{}: unknown key{}; accepted are {}", path, name,
                             did_you_mean(name, names), fmt::join(names, ", ")));
  }
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

template <typename T>
struct Choice {
  std::string_view name;  // lower case
  T value;
};

template <typename T, std::size_t N>
void take_choice(std::string_view key, const Json& json, const std::array<Choice<T>, N>& choices,
                 T& into, Problems& problems) {
  const std::string name = json.is_string() ? lower(json.get<std::string>()) : "";
  const auto* const choice = std::ranges::find(choices, name, &Choice<T>::name);
  if (choice != choices.end()) {
    into = choice->value;
    return;
  }
  std::vector<std::string_view> names;
  for (const Choice<T>& each : choices) names.push_back(each.name);
  problems.add(key, json, fmt::format("one of {}", fmt::join(names, ", ")));
}

std::optional<std::int64_t> whole_number(const Json& json, std::int64_t most) {
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    return std::nullopt;
  }
  const auto value = json.get<std::int64_t>();
  if (value < 1 || value > most) return std::nullopt;
  return value;
}

std::optional<ImageSize> two_sides(const Json& json) {
  if (!json.is_array() || json.size() != 2) return std::nullopt;
  const auto height = whole_number(json[0], kMaxSide);
  const auto width = whole_number(json[1], kMaxSide);
  if (!height || !width) return std::nullopt;
  return ImageSize{*height, *width};
}

// [h, w], or one number for a square.
std::optional<ImageSize> square_or_two_sides(const Json& json) {
  if (const auto side = whole_number(json, kMaxSide)) return ImageSize{*side, *side};
  return two_sides(json);
}

void take_resize(const Json& json, ImagePreprocess& image, Problems& problems) {
  enum class Mode : std::uint8_t { kShortSide, kExact };
  constexpr std::array kModes = {Choice<Mode>{"short_side", Mode::kShortSide},
                                 Choice<Mode>{"exact", Mode::kExact}};
  constexpr std::array kFilterChoices = {
      Choice<Filter>{"nearest", Filter::kNearest},   Choice<Filter>{"box", Filter::kBox},
      Choice<Filter>{"bilinear", Filter::kBilinear}, Choice<Filter>{"hamming", Filter::kHamming},
      Choice<Filter>{"bicubic", Filter::kBicubic},   Choice<Filter>{"lanczos", Filter::kLanczos}};
  if (!json.is_object()) return problems.add("resize", json, "an object {mode, size, filter}");
  ImagePreprocess::Resize resize;
  Mode mode = Mode::kShortSide;
  const Json* size = nullptr;
  take_keys(
      json, "resize.",
      {{"mode", [&](const Json& v) { take_choice("resize.mode", v, kModes, mode, problems); }},
       {"size", [&](const Json& v) { size = &v; }},
       {"filter",
        [&](const Json& v) {
          take_choice("resize.filter", v, kFilterChoices, resize.filter, problems);
        }}},
      problems);
  if (size == nullptr) return problems.add("preprocess.resize.size: missing");
  if (mode == Mode::kShortSide) {
    resize.short_side = whole_number(*size, kMaxSide);
    if (!resize.short_side) problems.add("resize.size", *size, "a length in pixels, 1..65536");
  } else {
    resize.exact = square_or_two_sides(*size);
    if (!resize.exact) problems.add("resize.size", *size, "[height, width] or one side");
  }
  image.resize = resize;
}

void take_crop(const Json& json, ImagePreprocess& image, Problems& problems) {
  constexpr std::array kModes = {Choice<int>{"center", 0}};
  if (!json.is_object()) return problems.add("crop", json, "an object {mode, size}");
  int mode = 0;
  const Json* size = nullptr;
  take_keys(json, "crop.",
            {{"mode", [&](const Json& v) { take_choice("crop.mode", v, kModes, mode, problems); }},
             {"size", [&](const Json& v) { size = &v; }}},
            problems);
  if (size == nullptr) return problems.add("preprocess.crop.size: missing");
  image.center_crop = square_or_two_sides(*size);
  if (!image.center_crop) problems.add("crop.size", *size, "[height, width] or one side");
}

void take_numbers(std::string_view key, const Json& json, bool zero_allowed,
                  std::vector<float>& into, Problems& problems) {
  const Json list = json.is_array() ? json : Json::array({json});
  std::vector<float> numbers;
  for (const Json& item : list) {
    const bool good = item.is_number() && (zero_allowed || item.get<double>() != 0.0);
    if (good) numbers.push_back(item.get<float>());
  }
  const bool all_good = numbers.size() == list.size();
  if (all_good && (numbers.size() == 1 || numbers.size() == 3)) {
    into = std::move(numbers);
    return;
  }
  problems.add(key, json,
               zero_allowed ? "1 or 3 numbers" : "1 or 3 numbers, none of them 0 (it divides)");
}

struct Decode {
  ColorSpace space;
  ChannelOrder order;
};

Result<Preprocess> parse_image(const Json& json) {
  constexpr std::array kDecodes = {Choice<Decode>{"rgb", {ColorSpace::kRgb, ChannelOrder::kRgb}},
                                   Choice<Decode>{"bgr", {ColorSpace::kRgb, ChannelOrder::kBgr}},
                                   Choice<Decode>{"gray", {ColorSpace::kGray, ChannelOrder::kRgb}}};
  constexpr std::array kOrders = {Choice<ChannelOrder>{"rgb", ChannelOrder::kRgb},
                                  Choice<ChannelOrder>{"bgr", ChannelOrder::kBgr}};
  constexpr std::array kLayouts = {Choice<Layout>{"nchw", Layout::kNchw},
                                   Choice<Layout>{"nhwc", Layout::kNhwc}};
  ImagePreprocess image;
  Problems problems;
  Decode decode = kDecodes[0].value;
  std::optional<ChannelOrder> order;
  const auto take_order = [&](const Json& v) {
    take_choice("channel_order", v, kOrders, order.emplace(), problems);
  };
  const std::vector<Key> keys = {
      {"decode", [&](const Json& v) { take_choice("decode", v, kDecodes, decode, problems); }},
      {"resize", [&](const Json& v) { take_resize(v, image, problems); }},
      {"crop", [&](const Json& v) { take_crop(v, image, problems); }},
      {"channel_order", take_order},
      {"layout",
       [&](const Json& v) { take_choice("layout", v, kLayouts, image.layout, problems); }},
      {"mean", [&](const Json& v) { take_numbers("mean", v, true, image.mean, problems); }},
      {"scale", [&](const Json& v) { take_numbers("scale", v, false, image.scale, problems); }}};
  take_keys(json, "", keys, problems);
  image.decode = decode.space;
  image.channel_order = order.value_or(decode.order);
  if (decode.order == ChannelOrder::kBgr && image.channel_order == ChannelOrder::kRgb) {
    problems.add("preprocess.channel_order: \"RGB\" contradicts preprocess.decode \"bgr\"");
  }
  const std::size_t channels = image.decode == ColorSpace::kGray ? 1 : 3;
  if (image.mean.size() > channels || image.scale.size() > channels) {
    problems.add(
        "preprocess.mean, preprocess.scale: a grey image has one channel, 3 numbers given");
  }
  RETURN_IF_ERROR(problems.status());
  return Preprocess(std::move(image));
}

Result<Preprocess> parse_text(const Json& json) {
  constexpr std::array kTokenizers = {Choice<int>{"wordpiece", 0}};
  constexpr std::array kPaddings = {Choice<int>{"max_length", 0}};
  TextPreprocess text;
  Problems problems;
  int only = 0;
  const auto take_vocab = [&](const Json& v) {
    if (!v.is_string() || v.get<std::string>().empty()) {
      return problems.add("vocab", v, "the name of a vocabulary file");
    }
    text.vocab = v.get<std::string>();
  };
  const auto take_lowercase = [&](const Json& v) {
    if (!v.is_boolean()) return problems.add("lowercase", v, "true or false");
    text.lowercase = v.get<bool>();
  };
  const auto take_length = [&](const Json& v) {
    const auto length = whole_number(v, kMaxTextLength);
    if (!length || *length < 3) return problems.add("max_length", v, "a number of ids, 3..65536");
    text.max_length = *length;
  };
  const auto take_tokens = [&](std::string_view key, std::optional<std::int64_t>& into) {
    return [&problems, &into, key](const Json& v) {
      into = whole_number(v, kMaxTextLength);
      if (!into) problems.add(key, v, "a number of tokens, 1..65536");
    };
  };
  const std::vector<Key> keys = {
      {"tokenizer",
       [&](const Json& v) { take_choice("tokenizer", v, kTokenizers, only, problems); }},
      {"vocab", take_vocab},
      {"lowercase", take_lowercase},
      {"max_length", take_length},
      {"doc_stride", take_tokens("doc_stride", text.doc_stride)},
      {"max_query_length", take_tokens("max_query_length", text.max_query_length)},
      {"padding", [&](const Json& v) { take_choice("padding", v, kPaddings, only, problems); }}};
  take_keys(json, "", keys, problems);
  for (const std::string_view needed : {"vocab", "max_length"}) {
    if (!json.contains(needed)) problems.add(fmt::format("preprocess.{}: missing", needed));
  }
  RETURN_IF_ERROR(problems.status());
  return Preprocess(std::move(text));
}

std::string describe(const ImagePreprocess& image) {
  const bool gray = image.decode == ColorSpace::kGray;
  std::string text = fmt::format("image decode={}", gray ? "gray" : "rgb");
  if (image.resize) {
    const ImagePreprocess::Resize& resize = *image.resize;
    text += fmt::format(" resize={}:{}", name_of(resize.filter),
                        resize.short_side ? fmt::format("short_side={}", *resize.short_side)
                                          : to_string(*resize.exact));
  }
  if (image.center_crop) text += fmt::format(" crop=center:{}", to_string(*image.center_crop));
  if (!gray) {
    text += image.channel_order == ChannelOrder::kRgb ? " order=RGB" : " order=BGR";
  }
  text += image.layout == Layout::kNchw ? " layout=NCHW" : " layout=NHWC";
  return text + fmt::format(" mean={} scale={}", image.mean, image.scale);
}

}  // namespace

Result<Preprocess> parse_preprocess(const Json& json) {
  if (json.is_null()) return Preprocess();
  if (!json.is_object()) {
    return invalid_argument(fmt::format("preprocess: got {}, accepted is an object", json.dump()));
  }
  return json.contains("tokenizer") ? parse_text(json) : parse_image(json);
}

std::string to_string(const Preprocess& preprocess) {
  if (const auto* image = std::get_if<ImagePreprocess>(&preprocess)) return describe(*image);
  if (const auto* text = std::get_if<TextPreprocess>(&preprocess)) {
    std::string steps = fmt::format("text tokenizer=wordpiece vocab={} lowercase={} max_length={}",
                                    text->vocab, text->lowercase, text->max_length);
    if (text->doc_stride) steps += fmt::format(" doc_stride={}", *text->doc_stride);
    if (text->max_query_length) {
      steps += fmt::format(" max_query_length={}", *text->max_query_length);
    }
    return steps;
  }
  return "none";
}

}  // namespace assay::dataset
