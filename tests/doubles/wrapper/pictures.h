#pragma once

// Pictures that the wrapped backend is fed with in place of the caller's.

#include <algorithm>
#include <string>
#include <vector>

#include "fault.h"

namespace wrapper {

[[noreturn]] inline void refuse(const std::string& message) {
  throw assay::backend::Error(ASSAY_INVALID_ARGUMENT, message);
}

// How the pictures of the first input lie, and how they were normalised.
class Pictures {
 public:
  explicit Pictures(const FaultSetup& setup) {
    const assay::backend::TensorSpec& input = setup.signature.inputs.at(0);
    if (input.dtype != assay::backend::DType::kFloat32 || input.shape.size() != 4) {
      refuse("faults of the pipeline need a FLOAT32 picture of rank 4, input \"" + input.name +
             "\" has dtype " + std::to_string(static_cast<int>(input.dtype)) + " and rank " +
             std::to_string(input.shape.size()));
    }
    read_layout(setup);
    channels_ =
        static_cast<std::size_t>(std::max<std::int64_t>(input.shape[channels_first_ ? 1 : 3], 0));
    mean_ = read_numbers(setup, "mean", 0);
    scale_ = read_numbers(setup, "scale", 1);
  }

  bool channels_first() const { return channels_first_; }
  std::size_t channels() const { return channels_; }
  double mean(std::size_t channel) const { return mean_[mean_.size() == 1 ? 0 : channel]; }
  double scale(std::size_t channel) const { return scale_[scale_.size() == 1 ? 0 : channel]; }

  // Pixels of one channel of one picture in a concrete array.
  static std::size_t plane(const Array& array, bool channels_first) {
    const auto& shape = array.shape();
    return static_cast<std::size_t>(channels_first ? shape[2] * shape[3] : shape[1] * shape[2]);
  }
  std::size_t plane(const Array& array) const { return plane(array, channels_first_); }
  std::size_t channel_of(const Array& array, std::size_t index) const {
    return channels_first_ ? index / plane(array) % channels_ : index % channels_;
  }
  // Place of the same pixel in another channel.
  std::size_t moved(const Array& array, std::size_t index, std::size_t to_channel) const {
    const std::size_t stride = channels_first_ ? plane(array) : 1;
    return index - channel_of(array, index) * stride + to_channel * stride;
  }

 private:
  void read_layout(const FaultSetup& setup) {
    std::string layout = setup.configs.text("interact_info.layout", "auto");
    if (layout == "auto") layout = setup.configs.text("model_info.preprocess.layout", "");
    if (layout.empty()) layout = setup.configs.text("model_info.layout", "NCHW");
    if (layout != "NCHW" && layout != "NHWC") {
      refuse("option layout: found \"" + layout + "\", accepted: NCHW, NHWC");
    }
    channels_first_ = layout == "NCHW";
  }

  std::vector<double> read_numbers(const FaultSetup& setup, const char* name,
                                   double otherwise) const {
    const std::string prefix = std::string("model_info.preprocess.") + name + ".";
    std::vector<double> numbers;
    while (setup.configs.has(prefix + std::to_string(numbers.size()))) {
      numbers.push_back(setup.configs.number(prefix + std::to_string(numbers.size()), otherwise));
    }
    if (numbers.empty()) numbers.push_back(otherwise);
    if (numbers.size() != 1 && numbers.size() != channels_) {
      refuse("preprocess." + std::string(name) + " has " + std::to_string(numbers.size()) +
             " numbers, the picture has " + std::to_string(channels_) + " channels");
    }
    return numbers;
  }

  bool channels_first_ = true;
  std::size_t channels_ = 0;
  std::vector<double> mean_;
  std::vector<double> scale_;
};

inline void want_channels(const char* fault, const Pictures& pictures, bool fits,
                          const char* wanted) {
  if (fits) return;
  refuse(std::string("fault ") + fault + " needs a picture of " + wanted + ", this one has " +
         std::to_string(pictures.channels()));
}

// A fault that feeds the wrapped backend with other pictures than the caller gave.
class InputFault : public Fault {
 public:
  explicit InputFault(const FaultSetup& setup) : pictures_(setup) {}
  void infer(const Call& call) final {
    std::vector<Array> inputs = call.copied_inputs();
    change(inputs.at(0));
    call.deliver(call.compute(inputs));
  }

 protected:
  virtual void change(Array& pictures) const = 0;
  const Pictures& pictures() const { return pictures_; }

 private:
  Pictures pictures_;
};

}  // namespace wrapper
