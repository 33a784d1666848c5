// Wrong pipelines: the backend works, but is fed with, or read as, something else than the model
// wants. All work on the first input, a FLOAT32 picture of rank 4 with a batch in front; the model
// info's preprocess says how it was normalised: (pixel - mean) / scale.

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "pictures.h"

namespace wrapper {
namespace {

using assay::backend::DType;
using assay::backend::Error;
using assay::backend::TensorSpec;

// Channels 0 and 2 of the pixels are swapped before they are normalised.
class Bgr : public InputFault {
 public:
  explicit Bgr(const FaultSetup& setup) : InputFault(setup) {
    want_channels("bgr", pictures(), pictures().channels() == 3, "3 channels");
  }

 protected:
  void change(Array& array) const override {
    const Array given = array;
    change_each(array, [&](double value, std::size_t i) {
      const std::size_t to = pictures().channel_of(given, i);
      const std::size_t from = 2 - to;
      if (from == to) return value;
      const double other = value_at(given, pictures().moved(given, i, from));
      if (pictures().mean(from) == pictures().mean(to) &&
          pictures().scale(from) == pictures().scale(to)) {
        return other;
      }
      const double pixel = other * pictures().scale(from) + pictures().mean(from);
      return (pixel - pictures().mean(to)) / pictures().scale(to);
    });
  }
};

// Pixels are normalised as (pixel - mean) / scale by other figures than the model info's.
class Renormalised : public InputFault {
 public:
  struct Figures {
    std::vector<double> mean;
    std::vector<double> scale;
  };

  Renormalised(const FaultSetup& setup, const char* fault,
               Figures (*figures_for)(std::size_t channels))
      : InputFault(setup), figures_(figures_for(pictures().channels())) {
    for (std::size_t c = 0; c < pictures().channels(); ++c) {
      if (figures_.mean[c] != pictures().mean(c) || figures_.scale[c] != pictures().scale(c)) {
        return;
      }
    }
    refuse(std::string("fault ") + fault + " would be none: this is how the model is fed");
  }

 protected:
  void change(Array& array) const override {
    change_each(array, [&](double value, std::size_t i) {
      const std::size_t channel = pictures().channel_of(array, i);
      const double pixel = value * pictures().scale(channel) + pictures().mean(channel);
      return (pixel - figures_.mean[channel]) / figures_.scale[channel];
    });
  }

 private:
  Figures figures_;
};

Renormalised::Figures bytes_figures(std::size_t channels) {
  return {std::vector<double>(channels, 0), std::vector<double>(channels, 1)};
}

Renormalised::Figures unit_figures(std::size_t channels) {
  return {std::vector<double>(channels, 0), std::vector<double>(channels, 255)};
}

// ImageNet's figures for pictures in 0..1; a grey picture takes those of the mean of its channels.
Renormalised::Figures imagenet_figures(std::size_t channels) {
  Renormalised::Figures figures{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  if (channels != 3) {
    figures = {std::vector<double>(channels, 0.449), std::vector<double>(channels, 0.226)};
  }
  for (double& mean : figures.mean) mean *= 255;
  for (double& scale : figures.scale) scale *= 255;
  return figures;
}

template <Renormalised::Figures (*kFigures)(std::size_t)>
std::unique_ptr<Fault> make_renormalised(const FaultSetup& setup) {
  return std::make_unique<Renormalised>(setup, setup.configs.text("interact_info.fault").c_str(),
                                        kFigures);
}

// The bytes of the other layout are taken for this one's.
class WrongLayout : public InputFault {
 public:
  explicit WrongLayout(const FaultSetup& setup) : InputFault(setup) {
    want_channels("layout", pictures(), pictures().channels() > 1, "more than one channel");
  }

 protected:
  void change(Array& array) const override {
    const Array given = array;
    const std::size_t plane = pictures().plane(given);
    const std::size_t channels = pictures().channels();
    const std::size_t picture = plane * channels;
    change_each(array, [&](double /*value*/, std::size_t i) {
      const std::size_t at = i % picture;
      const std::size_t from = pictures().channels_first() ? at % channels * plane + at / channels
                                                           : at % plane * channels + at / plane;
      return value_at(given, i / picture * picture + from);
    });
  }
};

// Values of one sample along the last dimension; 1 in outputs of one value per sample.
std::size_t row_width(const std::vector<std::int64_t>& shape) {
  return shape.size() < 2 ? 1 : static_cast<std::size_t>(shape.back());
}

// Calls change(row) for each row of the last dimension.
void change_rows(Array& output, const std::function<void(std::vector<double>&)>& change) {
  if (output.element_count() == 0) return;
  std::vector<double> row(row_width(output.shape()));
  const Array given = output;
  change_each(output, [&](double /*value*/, std::size_t i) {
    if (i % row.size() == 0) {
      for (std::size_t k = 0; k < row.size(); ++k) row[k] = value_at(given, i + k);
      change(row);
    }
    return row[i % row.size()];
  });
}

// Logits come as probabilities, probabilities as their logarithms. Which of the two an output holds
// is what the model info's metric says of it, else what its values say: probabilities are not
// negative, and each row of them adds up to 1.
class WrongActivation : public AnswerFault {
 public:
  explicit WrongActivation(const FaultSetup& setup)
      : scored_output_(setup.configs.text("model_info.metric.output", "")),
        scores_(setup.configs.text("model_info.metric.scores", "")) {}

 protected:
  void change(Answer& answer, const Call& /*call*/) override {
    for (auto& [index, output] : answer) {
      change_rows(output, are_probabilities(output) ? take_logarithm : take_softmax);
    }
  }

 private:
  bool are_probabilities(const Array& output) const {
    if (!scores_.empty() && output.name() == scored_output_) return scores_ == "probabilities";
    bool all = true;
    Array copy = output;
    change_rows(copy, [&](const std::vector<double>& row) {
      const double sum = std::accumulate(row.begin(), row.end(), 0.0);
      all = all && *std::min_element(row.begin(), row.end()) >= 0 && std::abs(sum - 1) < 1e-3;
    });
    return all;
  }

  static void take_logarithm(std::vector<double>& row) {
    for (double& value : row) value = std::log(std::max(value, 1e-30));
  }
  // Of one value: the sigmoid.
  static void take_softmax(std::vector<double>& row) {
    const double largest = row.size() == 1 ? 0 : *std::max_element(row.begin(), row.end());
    double sum = row.size() == 1 ? 1 : 0;
    for (double& value : row) {
      value = std::exp(value - largest);
      sum += value;
    }
    for (double& value : row) value /= sum;
  }

  std::string scored_output_;
  std::string scores_;
};

// What is said of class k is said of class k + 1; of the last one, of the first.
class LabelShift : public AnswerFault {
 public:
  explicit LabelShift(const FaultSetup& setup) {
    for (const TensorSpec& output : setup.signature.outputs) {
      if (row_width(output.shape) != 1) return;
    }
    refuse("fault label_shift would be none: no output has more than one class");
  }

 protected:
  void change(Answer& answer, const Call& /*call*/) override {
    for (auto& [index, output] : answer) {
      change_rows(output, [](std::vector<double>& row) {
        std::rotate(row.begin(), row.end() - 1, row.end());
      });
    }
  }
};

// Changes the integers of the first input whose name has `part` in it.
template <typename Change>
void change_integers(std::vector<Array>& inputs, const std::string& part, Change change) {
  for (Array& input : inputs) {
    if (input.name().find(part) == std::string::npos) continue;
    const auto apply = [&](auto* values) {
      for (std::size_t i = 0; i < input.element_count(); ++i) values[i] = change(values[i]);
    };
    if (input.dtype() == ASSAY_INT64) return apply(reinterpret_cast<std::int64_t*>(input.data()));
    if (input.dtype() == ASSAY_INT32) return apply(reinterpret_cast<std::int32_t*>(input.data()));
  }
  refuse("this fault needs an integer input with \"" + part + "\" in its name");
}

// Padding counts as text.
class MaskIgnored : public Fault {
 public:
  void infer(const Call& call) override {
    std::vector<Array> inputs = call.copied_inputs();
    change_integers(inputs, "mask", [](auto value) { return decltype(value){1}; });
    call.deliver(call.compute(inputs));
  }
};

// Each token has the id of the next line of the vocabulary.
class IdsShifted : public Fault {
 public:
  void infer(const Call& call) override {
    std::vector<Array> inputs = call.copied_inputs();
    change_integers(inputs, "input_ids", [](auto value) { return value + 1; });
    call.deliver(call.compute(inputs));
  }
};

constexpr FaultRow kRows[] = {
    {"bgr", make_fault_from<Bgr>},
    {"range_255", make_renormalised<bytes_figures>},
    {"range_1", make_renormalised<unit_figures>},
    {"imagenet_norm", make_renormalised<imagenet_figures>},
    {"layout", make_fault_from<WrongLayout>},
    {"activation", make_fault_from<WrongActivation>},
    {"label_shift", make_fault_from<LabelShift>},
    {"mask_ignored", make_fault<MaskIgnored>},
    {"ids_shifted", make_fault<IdsShifted>},
};

}  // namespace

std::span<const FaultRow> pipeline_faults() { return kRows; }

}  // namespace wrapper
