#include "workload/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/suggest.h"
#include "workload/comma_list.h"

namespace assay::workload {
namespace {

std::vector<std::string> names_of(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> names;
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  return names;
}

const TensorSpec* find(const std::vector<TensorSpec>& specs, const std::string& name) {
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const TensorSpec& spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

std::string described(const TensorSpec& spec) {
  return fmt::format("{} {}", name_of(spec.dtype), to_string(spec.shape));
}

// Whether dimension `said` of the file can be dimension `wanted` of the model. A batch dimension
// that the model fixes may be any multiple of the file's, which is that of one sample.
bool dimension_fits(std::int64_t said, std::int64_t wanted, bool is_batch) {
  if (said < 0 || wanted < 0 || said == wanted) return true;
  return is_batch && said > 0 && wanted % said == 0;
}

std::optional<std::size_t> differing_axis(const Shape& said, const Shape& wanted,
                                          std::optional<std::size_t> batch_axis) {
  for (std::size_t axis = 0; axis < said.size(); ++axis) {
    if (!dimension_fits(said[axis], wanted[axis], batch_axis == axis)) return axis;
  }
  return std::nullopt;
}

// The same dimensions in another order, beside the first: as many bytes, so feeding it would not
// fail.
bool is_other_layout(const Shape& said, const Shape& wanted) {
  if (said.size() < 3) return false;
  return std::is_permutation(said.begin() + 1, said.end(), wanted.begin() + 1, wanted.end());
}

// What is contradictory between the two, or "".
std::string contradiction(const TensorSpec& said, const TensorSpec& wanted,
                          std::optional<std::size_t> batch_axis) {
  const std::string sides =
      fmt::format("model info says {}, the model wants {}", described(said), described(wanted));
  if (said.dtype != wanted.dtype) return sides + ": another dtype";
  if (said.shape.size() != wanted.shape.size()) {
    return fmt::format("{}: rank {} against {}", sides, said.shape.size(), wanted.shape.size());
  }
  const auto axis = differing_axis(said.shape, wanted.shape, batch_axis);
  if (!axis) return "";
  if (is_other_layout(said.shape, wanted.shape)) {
    return sides + ": the same size in another layout";
  }
  return fmt::format("{}: dimension {} is {} against {}", sides, *axis, said.shape[*axis],
                     wanted.shape[*axis]);
}

// Compares one model info with one signature and gathers what differs.
class Comparison {
 public:
  Comparison(ModelInfo& info, const ModelFile& model)
      : info_(info), model_(model), signature_(model.signature) {}

  Status run() {
    take_names_by_position();
    for (std::size_t i = 0; i < info_.inputs.size(); ++i) compare_input(i);
    for (const TensorSpec& wanted : signature_.inputs) {
      if (find(info_.inputs, wanted.name) != nullptr) continue;
      report("/inputs", fmt::format("the model's input {} is not named, accepted: all of {}",
                                    to_string(wanted), quoted_list(names_of(signature_.inputs))));
    }
    compare_outputs();
    if (!info_.published_old_form) return to_status(std::move(problems_));
    for (const Problem& problem : problems_) info_.warnings.push_back(to_string(problem));
    return to_status(std::move(fatal_));
  }

 private:
  void report(std::string_view pointer, std::string message) {
    problems_.push_back(problem(pointer, std::move(message)));
  }

  Problem problem(std::string_view pointer, std::string message) const {
    if (info_.source) return info_.source->problem(pointer, std::move(message));
    return {info_.name, {}, "", std::move(message)};
  }

  // Old files name inputs as their framework did; the order is then what tells them apart.
  void take_names_by_position() {
    if (!info_.published_old_form || info_.inputs.size() != signature_.inputs.size()) return;
    for (std::size_t i = 0; i < info_.inputs.size(); ++i) {
      const std::string& name = info_.inputs[i].name;
      if (find(signature_.inputs, name) != nullptr) continue;
      if (find(info_.inputs, signature_.inputs[i].name) != nullptr) continue;
      report("/inputs", fmt::format("found \"{}\", the model calls it \"{}\", which is taken", name,
                                    signature_.inputs[i].name));
      info_.inputs[i].name = signature_.inputs[i].name;
    }
  }

  void compare_input(std::size_t index) {
    TensorSpec& said = info_.inputs[index];
    const TensorSpec* wanted = find(signature_.inputs, said.name);
    if (wanted == nullptr) {
      const std::vector<std::string> names = names_of(signature_.inputs);
      Problem missing =
          problem("/inputs", fmt::format("the model has no input \"{}\", only {}{}", said.name,
                                         quoted_list(names), did_you_mean(said.name, names)));
      (info_.published_old_form ? fatal_ : problems_).push_back(std::move(missing));
      return;
    }
    if (!rank_known(*wanted)) {
      compare_dtype(said, *wanted);
      return;
    }
    const std::string message = contradiction(said, *wanted, info_.batch_axes[index]);
    if (!message.empty()) {
      const bool dtype = said.dtype != wanted->dtype;
      report(dtype ? "/input_type" : "/input_shape/" + pointer_token(said.name),
             fmt::format("input \"{}\": {}", said.name, message));
      if (info_.published_old_form) take_model_side(index, *wanted);
    }
    fill_in(index, *wanted);
  }

  bool rank_known(const TensorSpec& wanted) const {
    const auto index = static_cast<std::size_t>(&wanted - signature_.inputs.data());
    return index >= model_.input_dims.size() || model_.input_dims[index].rank_known;
  }

  void compare_dtype(TensorSpec& said, const TensorSpec& wanted) {
    if (said.dtype == wanted.dtype) return;
    report("/input_type", fmt::format("input \"{}\": model info says {}, the model wants {}",
                                      said.name, name_of(said.dtype), name_of(wanted.dtype)));
    if (info_.published_old_form) said.dtype = wanted.dtype;
  }

  void take_model_side(std::size_t index, const TensorSpec& wanted) {
    TensorSpec& said = info_.inputs[index];
    std::optional<std::size_t>& batch_axis = info_.batch_axes[index];
    said.dtype = wanted.dtype;
    if (!differs_in_shape(said, wanted, batch_axis)) return;
    const bool batched = batch_axis && *batch_axis < wanted.shape.size();
    said.shape = wanted.shape;
    if (!batched) batch_axis = std::nullopt;
    if (batched) said.shape[*batch_axis] = 1;
  }

  static bool differs_in_shape(const TensorSpec& said, const TensorSpec& wanted,
                               std::optional<std::size_t> batch_axis) {
    return said.shape.size() != wanted.shape.size() ||
           differing_axis(said.shape, wanted.shape, batch_axis).has_value();
  }

  // Dimensions of a sample that only the model fixes.
  void fill_in(std::size_t index, const TensorSpec& wanted) {
    Shape& said = info_.inputs[index].shape;
    if (said.size() != wanted.shape.size()) return;
    for (std::size_t axis = 0; axis < said.size(); ++axis) {
      if (said[axis] >= 0) continue;
      said[axis] = info_.batch_axes[index] == axis ? 1 : wanted.shape[axis];
    }
  }

  void compare_outputs() {
    const std::vector<std::string> given = names_of(signature_.outputs);
    bool missing = false;
    for (const std::string& output : info_.outputs) {
      if (find(signature_.outputs, output) != nullptr) continue;
      missing = true;
      report("/outputs", fmt::format("the model has no output \"{}\", only {}{}", output,
                                     quoted_list(given), did_you_mean(output, given)));
    }
    if (info_.outputs.empty() || (missing && info_.published_old_form)) info_.outputs = given;
  }

  ModelInfo& info_;
  const ModelFile& model_;
  const Signature& signature_;
  std::vector<Problem> problems_;
  std::vector<Problem> fatal_;  // what even an old file is refused for
};

}  // namespace

Status check_against_signature(ModelInfo& info, const ModelFile& model) {
  return Comparison(info, model).run();
}

std::optional<std::int64_t> fixed_batch(const ModelInfo& info, const Signature& signature) {
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    const TensorSpec* wanted = find(signature.inputs, info.inputs[i].name);
    const auto& axis = info.batch_axes[i];
    if (wanted == nullptr || !axis || *axis >= wanted->shape.size()) continue;
    if (wanted->shape[*axis] < 0) continue;
    return wanted->shape[*axis] / std::max<std::int64_t>(info.inputs[i].shape[*axis], 1);
  }
  return std::nullopt;
}

namespace {

// Gives every dimension of a bare model a value.
class DimensionFiller {
 public:
  DimensionFiller(const ModelFile& model, const std::vector<DimensionChoice>& choices)
      : model_(model), choices_(choices), used_(choices.size(), false) {}

  // Fills info.inputs and info.batch_axes.
  Status fill(ModelInfo& info) {
    RETURN_IF_ERROR(check_ranks());
    for (std::size_t i = 0; i < model_.signature.inputs.size(); ++i) add_input(i, info);
    RETURN_IF_ERROR(check_choices());
    if (missing_.empty()) return ok_status();
    return invalid_argument(fmt::format(
        "{} leaves dimensions open that have no name: {}; give each a value, for example{}",
        model_.path.filename().native(), missing_, example_));
  }

 private:
  Status check_ranks() const {
    std::vector<std::string> unknown;
    for (std::size_t i = 0; i < model_.input_dims.size(); ++i) {
      if (!model_.input_dims[i].rank_known) unknown.push_back(model_.signature.inputs[i].name);
    }
    if (unknown.empty()) return ok_status();
    return invalid_argument(
        fmt::format("{} gives no shape for {}; accepted: a model info file in model_zoo/ that does",
                    model_.path.filename().native(), quoted_list(unknown)));
  }

  void add_input(std::size_t index, ModelInfo& info) {
    TensorSpec spec = model_.signature.inputs[index];
    const bool batched = is_batched(spec);
    if (batched) spec.shape[0] = 1;
    for (std::size_t axis = 0; axis < spec.shape.size(); ++axis) {
      if (spec.shape[axis] < 0) choose(index, axis, spec, info);
    }
    info.batch_axes.push_back(batched ? std::optional<std::size_t>(0) : std::nullopt);
    info.inputs.push_back(std::move(spec));
  }

  // A free first dimension is the batch; so is a fixed one that all inputs share.
  bool is_batched(const TensorSpec& spec) const {
    if (spec.shape.empty()) return false;
    if (spec.shape[0] < 0) return true;
    const BatchInfo& batch = model_.batch;
    return !batch.dynamic && spec.shape[0] == batch.fixed && all_inputs_share(batch.fixed);
  }

  bool all_inputs_share(std::int64_t dimension) const {
    const auto& inputs = model_.signature.inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](const TensorSpec& input) {
      return input.shape.empty() || input.shape[0] == dimension;
    });
  }

  void choose(std::size_t index, std::size_t axis, TensorSpec& spec, ModelInfo& info) {
    const std::string symbol = symbol_of(index, axis);
    const std::string place = fmt::format("{}.{}", spec.name, axis);
    const std::string& name = symbol.empty() ? place : symbol;
    if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
    if (const DimensionChoice* choice = choice_for(symbol, place)) {
      spec.shape[axis] = choice->value;
      return;
    }
    if (symbol.empty()) {
      missing_ += fmt::format("{}dimension {} of input {}", missing_.empty() ? "" : ", ", axis,
                              to_string(model_.signature.inputs[index]));
      example_ += fmt::format(" --dim {}=128", place);
      return;
    }
    spec.shape[axis] = 1;
    info.warnings.push_back(
        fmt::format("input \"{}\": dimension {} (\"{}\") is free, 1 is taken; --dim {}=N sets it",
                    spec.name, axis, symbol, symbol));
  }

  std::string symbol_of(std::size_t index, std::size_t axis) const {
    if (index >= model_.input_dims.size()) return "";
    const std::vector<std::string>& names = model_.input_dims[index].names;
    return axis < names.size() ? names[axis] : "";
  }

  const DimensionChoice* choice_for(const std::string& symbol, const std::string& place) {
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (choices_[i].name != place && (symbol.empty() || choices_[i].name != symbol)) continue;
      used_[i] = true;
      return &choices_[i];
    }
    return nullptr;
  }

  Status check_choices() const {
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (used_[i]) continue;
      return invalid_argument(fmt::format("--dim {}: not a free dimension of {}, those are: {}{}",
                                          choices_[i].name, model_.path.filename().native(),
                                          names_.empty() ? "none" : quoted_list(names_),
                                          did_you_mean(choices_[i].name, names_)));
    }
    return ok_status();
  }

  const ModelFile& model_;
  const std::vector<DimensionChoice>& choices_;
  std::vector<bool> used_;
  std::vector<std::string> names_;  // of the free dimensions that are not the batch, each once
  std::string missing_;
  std::string example_;
};

}  // namespace

Result<DimensionChoice> parse_dimension_choice(const std::string& option) {
  const std::size_t equals = option.rfind('=');
  DimensionChoice choice;
  if (equals != std::string::npos && equals > 0) {
    choice.name = option.substr(0, equals);
    const char* const end = option.data() + option.size();
    const auto [stop, error] = std::from_chars(option.data() + equals + 1, end, choice.value);
    if (error == std::errc() && stop == end && choice.value >= 1) return choice;
  }
  return invalid_argument(fmt::format(
      "--dim: found \"{}\", accepted: name=value with a whole number of at least 1", option));
}

Result<ModelInfo> model_info_from_signature(const ModelFile& model,
                                            const std::vector<DimensionChoice>& choices) {
  ModelInfo info;
  info.name = model.path.stem().native();
  info.model_path = model.path;
  info.model_found = true;
  info.framework = model.format == "onnx" ? "Onnx" : model.format;
  info.model_format = model.format;
  info.is_quantized = model.has_quantize_nodes;
  RETURN_IF_ERROR(DimensionFiller(model, choices).fill(info));
  for (const TensorSpec& output : model.signature.outputs) info.outputs.push_back(output.name);
  for (std::size_t i = 0; i < std::min(info.inputs.size(), model.input_ranges.size()); ++i) {
    const auto& range = model.input_ranges[i];
    info.input_ranges.push_back({info.inputs[i].name, range.min, range.max});
  }
  return info;
}

}  // namespace assay::workload
