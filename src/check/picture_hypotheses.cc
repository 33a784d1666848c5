// Wrong ways to make a tensor of a picture.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "check/elements.h"
#include "check/hypotheses.h"
#include "tensor/convert.h"

namespace assay::check {
namespace {

// (pixel - mean) / scale, per channel.
struct Figures {
  std::vector<double> mean;
  std::vector<double> scale;

  bool operator==(const Figures&) const = default;
  bool alike() const {
    const auto same = [](const std::vector<double>& list) {
      return std::all_of(list.begin(), list.end(), [&](double v) { return v == list.front(); });
    };
    return same(mean) && same(scale);
  }
};

// The first input: how its values lie and what they mean.
struct Picture {
  DType dtype = DType::kFloat32;
  bool channels_first = true;
  std::size_t channels = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::optional<Figures> figures;  // none: not known, or values are integers

  std::size_t plane() const { return height * width; }
  std::size_t size() const { return channels * plane(); }
  std::size_t at(std::size_t c, std::size_t y, std::size_t x) const {
    return channels_first ? (c * height + y) * width + x : (y * width + x) * channels + c;
  }
  std::size_t channel_of(std::size_t i) const {
    return channels_first ? i / plane() : i % channels;
  }
};

std::vector<double> per_channel(const std::vector<double>& given, std::size_t channels) {
  return given.size() == 1 ? std::vector<double>(channels, given.front()) : given;
}

std::optional<Picture> picture_of(const PipelineFacts& facts) {
  if (!facts.picture || facts.inputs.empty()) return std::nullopt;
  const TensorSpec& spec = facts.inputs.front();
  if (spec.shape.size() != 4 || spec.shape[0] != 1) return std::nullopt;
  const auto length = [&](std::size_t axis) { return static_cast<std::size_t>(spec.shape[axis]); };
  Picture picture;
  picture.dtype = spec.dtype;
  picture.channels_first = facts.picture->channels_first;
  picture.channels = length(picture.channels_first ? 1 : 3);
  picture.height = length(picture.channels_first ? 2 : 1);
  picture.width = length(picture.channels_first ? 3 : 2);
  Figures figures{per_channel(facts.picture->mean, picture.channels),
                  per_channel(facts.picture->scale, picture.channels)};
  const bool known =
      figures.mean.size() == picture.channels && figures.scale.size() == picture.channels;
  if (known && is_floating(picture.dtype)) picture.figures = std::move(figures);
  return picture;
}

// Value i of a changed picture is value sources[i] of the given one.
using Sources = std::vector<std::size_t>;

template <typename From>
Sources sources_by_place(const Picture& picture, const From& from) {
  Sources sources(picture.size());
  for (std::size_t c = 0; c < picture.channels; ++c) {
    for (std::size_t y = 0; y < picture.height; ++y) {
      for (std::size_t x = 0; x < picture.width; ++x) {
        sources[picture.at(c, y, x)] = from(c, y, x);
      }
    }
  }
  return sources;
}

Sources in_place(const Picture& picture) {
  return sources_by_place(
      picture, [&](std::size_t c, std::size_t y, std::size_t x) { return picture.at(c, y, x); });
}

Sources swapped_channels(const Picture& picture) {
  return sources_by_place(picture, [&](std::size_t c, std::size_t y, std::size_t x) {
    return picture.at(picture.channels - 1 - c, y, x);
  });
}

Sources transposed(const Picture& picture) {
  return sources_by_place(
      picture, [&](std::size_t c, std::size_t y, std::size_t x) { return picture.at(c, x, y); });
}

// The pixels in the order of the other layout.
Sources other_layout(const Picture& picture) {
  Picture other = picture;
  other.channels_first = !picture.channels_first;
  Sources sources(picture.size());
  for (std::size_t c = 0; c < picture.channels; ++c) {
    for (std::size_t y = 0; y < picture.height; ++y) {
      for (std::size_t x = 0; x < picture.width; ++x) {
        sources[other.at(c, y, x)] = picture.at(c, y, x);
      }
    }
  }
  return sources;
}

Sources inverse(const Sources& sources) {
  Sources back(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) back[sources[i]] = i;
  return back;
}

void rearrange(std::span<std::byte> bytes, std::size_t item, const Sources& sources) {
  const std::vector<std::byte> given(bytes.begin(), bytes.end());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::memcpy(&bytes[i * item], &given[sources[i] * item], item);
  }
}

// How pixels are fed anew: to other places, and to values by other figures.
struct Feeding {
  Sources sources;
  Figures figures;
  bool saturated = false;
};

Status feed_anew(const Picture& picture, const Feeding& feeding, std::span<std::byte> bytes) {
  const Figures& own = *picture.figures;
  std::vector<double> given(picture.size());
  load_doubles(picture.dtype, bytes, given.data());
  std::vector<double> values(picture.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t source = feeding.sources[i];
    const std::size_t was = picture.channel_of(source);
    const std::size_t is = picture.channel_of(i);
    const double pixel = given[source] * own.scale[was] + own.mean[was];
    values[i] = (pixel - feeding.figures.mean[is]) / feeding.figures.scale[is];
    if (!feeding.saturated) continue;
    values[i] = std::clamp(values[i], (0 - own.mean[is]) / own.scale[is],
                           (255 - own.mean[is]) / own.scale[is]);
  }
  return convert(DType::kFloat64, std::as_bytes(std::span(values)), picture.dtype, bytes);
}

InputHypothesis moved(std::string name, std::string sentence, const Picture& picture,
                      Sources sources) {
  return {std::move(name), std::move(sentence),
          [item = size_of(picture.dtype), sources = std::move(sources)](SampleInputs inputs) {
            rearrange(inputs.front(), item, sources);
            return ok_status();
          }};
}

InputHypothesis fed_anew(std::string name, std::string sentence, const Picture& picture,
                         Feeding feeding) {
  return {std::move(name), std::move(sentence),
          [picture, feeding = std::move(feeding)](SampleInputs inputs) {
            return feed_anew(picture, feeding, inputs.front());
          }};
}

struct Normalisation {
  const char* name;
  const char* sentence;
  Figures figures;
};

std::vector<Normalisation> normalisations(const Picture& picture) {
  const auto all = [&](double value) { return std::vector<double>(picture.channels, value); };
  // ImageNet's, of pixels in 0..1; for other than three channels, the means of the three.
  Figures imagenet{all(0.449 * 255), all(0.226 * 255)};
  if (picture.channels == 3) {
    imagenet = {{0.485 * 255, 0.456 * 255, 0.406 * 255}, {0.229 * 255, 0.224 * 255, 0.225 * 255}};
  }
  // Twice: what is normalised once is taken for pixels again.
  Figures twice = *picture.figures;
  for (std::size_t c = 0; c < picture.channels; ++c) {
    twice.mean[c] += twice.mean[c] * picture.figures->scale[c];
    twice.scale[c] *= picture.figures->scale[c];
  }
  return {
      {"range_255", "the backend seems to get pixels of 0..255, not normalised", {all(0), all(1)}},
      {"range_1", "the backend seems to get pixels scaled to 0..1", {all(0), all(255)}},
      {"range_symmetric",
       "the backend seems to get pixels scaled to -1..1",
       {all(127.5), all(127.5)}},
      {"imagenet_norm",
       "the backend seems to get pixels normalised by ImageNet's mean and standard deviation, "
       "not by the model's",
       std::move(imagenet)},
      {"normalised_twice", "the backend seems to get pixels that were normalised twice",
       std::move(twice)}};
}

void add_places(const Picture& picture, std::vector<InputHypothesis>& list) {
  if (picture.channels > 1) {
    const char* const wanted = picture.channels_first ? "NCHW" : "NHWC";
    const char* const other = picture.channels_first ? "NHWC" : "NCHW";
    const Sources sources = other_layout(picture);
    list.push_back(moved("layout",
                         fmt::format("the backend seems to get pictures laid out as {} where the "
                                     "model wants {}",
                                     other, wanted),
                         picture, sources));
    list.push_back(
        moved("layout_read",
              fmt::format("the backend seems to read the model's {} pictures as {}", wanted, other),
              picture, inverse(sources)));
  }
  if (picture.height == picture.width && picture.height > 1) {
    list.push_back(moved("transposed",
                         "the backend seems to get pictures with rows and columns swapped", picture,
                         transposed(picture)));
  }
}

// One wrong normalisation, alone and with what may come with it.
void add_normalisation(const Picture& picture, const Normalisation& other, bool saturates,
                       std::vector<InputHypothesis>& list) {
  const auto add = [&](const std::string& before, const char* name_end, const char* sentence_end,
                       Feeding feeding) {
    list.push_back(fed_anew(fmt::format("{}{}{}", before, other.name, name_end),
                            fmt::format("{}{}", other.sentence, sentence_end), picture,
                            std::move(feeding)));
  };
  add("", "", "", {in_place(picture), other.figures});
  if (saturates) {
    add("", "_saturated", ", and cuts them off at the ends of the model's range",
        {in_place(picture), other.figures, /*saturated=*/true});
  }
  if (picture.channels == 3) {
    add("bgr+", "", ", and BGR where the model wants RGB",
        {swapped_channels(picture), other.figures});
  }
}

}  // namespace

void add_picture_hypotheses(const PipelineFacts& facts, std::vector<InputHypothesis>& list) {
  const std::optional<Picture> picture = picture_of(facts);
  if (!picture || picture->size() == 0) return;
  constexpr const char* kBgr = "the backend seems to get BGR where the model wants RGB";
  if (picture->channels == 3 && picture->figures) {
    list.push_back(
        fed_anew("bgr", kBgr, *picture, {swapped_channels(*picture), *picture->figures}));
  } else if (picture->channels == 3) {
    list.push_back(moved("bgr", kBgr, *picture, swapped_channels(*picture)));
  }
  add_places(*picture, list);
  if (!picture->figures) return;
  for (const Normalisation& other : normalisations(*picture)) {
    if (other.figures == *picture->figures) continue;
    add_normalisation(*picture, other, facts.picture->saturates, list);
  }
}

}  // namespace assay::check
