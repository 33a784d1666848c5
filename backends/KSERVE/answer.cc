#include "answer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "options.h"

namespace kserve {
namespace {

using assay::backend::DType;
using assay::backend::Error;
using assay::backend::TensorSpec;

constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostDimensions = 32;
constexpr std::size_t kLongestName = 4096;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ASSAY_DATA_LOSS, "the server's answer " + what);
}

// Where in the answer the reader is.
enum class Place : std::uint8_t {
  kNowhere,
  kTop,
  kOutputs,
  kOutput,
  kParameters,
  kShape,
  kData,
  kOther
};

// Takes the answer piece by piece, so that a number costs 16 bytes and nothing else is kept.
class Reader : public nlohmann::json_sax<Json> {
 public:
  Reader(const AnswerLimits& limits, Answer& answer) : limits_(&limits), answer_(&answer) {}

  bool null() override { return take(Number::null()); }
  bool boolean(bool value) override { return take(Number::of(value)); }
  bool number_integer(std::int64_t value) override { return take(Number::of(value)); }
  bool number_unsigned(std::uint64_t value) override {
    return take(value <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}
                    ? Number::of(static_cast<std::int64_t>(value))
                    : Number::of(value));
  }
  bool number_float(double value, const std::string& text) override {
    return take(Number::of(value, text));
  }
  bool string(std::string& value) override {
    if (place() == Place::kNowhere) refuse("is no object");
    if (value.size() > kLongestName && place() != Place::kOther) refuse("has a text too long");
    if (place() == Place::kTop && key_ == "id") answer_->id = value;
    if (place() == Place::kOutput && key_ == "name") output().name = value;
    if (place() == Place::kOutput && key_ == "datatype") output().datatype = value;
    return place() != Place::kData || take(Number::of_word(value));
  }
  bool binary(Json::binary_t& /*value*/) override { return false; }
  bool key(std::string& value) override {
    key_ = value;
    return true;
  }
  bool start_object(std::size_t /*size*/) override {
    if (place() == Place::kData) refuse("has an object among the data of \"" + output().name + '"');
    enter(place_of_object());
    if (place() == Place::kOutput) add_output();
    return true;
  }
  bool start_array(std::size_t /*size*/) override {
    enter(place_of_array());
    return true;
  }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& /*why*/) override {
    const bool bare = place() == Place::kData && token.find_first_of("NI") != std::string::npos;
    if (bare) {
      refuse("has a bare NaN or Infinity at byte " + std::to_string(position) +
             ", which is no JSON: the value is lost; transport binary keeps it");
    }
    refuse("is no JSON, or cut short: at byte " + std::to_string(position));
  }

 private:
  Place place() const { return places_.empty() ? Place::kNowhere : places_.back(); }
  OutputAnswer& output() { return answer_->outputs.back(); }

  Place place_of_object() const {
    if (place() == Place::kNowhere) return Place::kTop;
    if (place() == Place::kOutputs) return Place::kOutput;
    return place() == Place::kOutput && key_ == "parameters" ? Place::kParameters : Place::kOther;
  }

  Place place_of_array() {
    if (place() == Place::kNowhere) refuse("is a list, not an object");
    if (place() == Place::kData) return Place::kData;
    if (place() == Place::kTop && key_ == "outputs") return Place::kOutputs;
    if (place() != Place::kOutput) return Place::kOther;
    if (key_ == "data") output().has_data = true;
    if (key_ == "shape") output().shape.emplace();
    return key_ == "data" ? Place::kData : key_ == "shape" ? Place::kShape : Place::kOther;
  }

  void enter(Place place) {
    if (places_.size() >= kDeepest) refuse("is nested too deeply");
    places_.push_back(place);
  }
  bool leave() {
    places_.pop_back();
    return true;
  }

  void add_output() {
    if (answer_->outputs.size() >= limits_->tensors) {
      refuse("has more than " + std::to_string(limits_->tensors) + " outputs");
    }
    answer_->outputs.emplace_back();
  }

  bool take(const Number& number) {
    if (place() == Place::kNowhere) refuse("is no object");
    if (place() == Place::kShape) add_dimension(number);
    if (place() == Place::kData) add_value(number);
    if (place() == Place::kParameters && key_ == "binary_data_size") {
      if (number.kind != Number::Kind::kInt || number.integer < 0) {
        refuse("has a binary_data_size that is no size");
      }
      output().binary_size = static_cast<std::uint64_t>(number.integer);
    }
    return true;
  }

  void add_dimension(const Number& number) {
    if (number.kind != Number::Kind::kInt || number.integer < 0 ||
        output().shape->size() >= kMostDimensions) {
      refuse("has a shape that is none, of \"" + output().name + '"');
    }
    output().shape->push_back(number.integer);
  }

  void add_value(const Number& number) {
    if (values_ >= limits_->values) {
      refuse("has more than the " + std::to_string(limits_->values) +
             " values that it may have, in output \"" + output().name + '"');
    }
    ++values_;
    output().numbers.push_back(number);
  }

  const AnswerLimits* limits_;
  Answer* answer_;
  std::vector<Place> places_;
  std::string key_;  // the last one seen
  std::size_t values_ = 0;
};

// Gives the outputs their bytes; none may be left over.
void hand_out_bytes(std::string_view bytes, Answer& answer) {
  for (OutputAnswer& output : answer.outputs) {
    if (!output.binary_size) continue;
    if (*output.binary_size > bytes.size()) {
      refuse("ends inside output \"" + output.name + "\": " + std::to_string(bytes.size()) +
             " bytes are left of the " + std::to_string(*output.binary_size) + " announced");
    }
    output.bytes = bytes.substr(0, *output.binary_size);
    bytes.remove_prefix(output.bytes.size());
  }
  if (!bytes.empty()) {
    refuse("has " + std::to_string(bytes.size()) + " bytes after the last of its tensors");
  }
}

// Elements of a shape; none when they are more than could be counted.
std::optional<std::uint64_t> element_count(const std::vector<std::int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(size), &count)) return {};
  }
  return count;
}

bool fits(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& wanted) {
  return shape.size() == wanted.size() && std::equal(shape.begin(), shape.end(), wanted.begin(),
                                                     [](std::int64_t found, std::int64_t want) {
                                                       return want < 0 || found == want;
                                                     });
}

void check_size(const OutputAnswer& output, DType dtype) {
  const std::string named =
      "has output \"" + output.name + "\" of shape " + shape_text(*output.shape) + " with ";
  const std::optional<std::uint64_t> elements = element_count(*output.shape);
  if (output.binary_size) {
    const std::uint64_t size = assay::backend::size_of(dtype);
    if (output.has_data) refuse(named + "data twice: as numbers and as bytes");
    if (!elements || *output.binary_size % size != 0 || *output.binary_size / size != *elements) {
      refuse(named + std::to_string(*output.binary_size) + " bytes of " + wire_name(dtype));
    }
    return;
  }
  if (!output.has_data) refuse(named + "no data");
  if (!elements || output.numbers.size() != *elements) {
    refuse(named + std::to_string(output.numbers.size()) + " values");
  }
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    text += (text.size() > 1 ? "," : "") + std::to_string(size);
  }
  return text + ']';
}

Answer parse_answer(std::string_view body, std::optional<std::uint64_t> header_length,
                    const AnswerLimits& limits) {
  if (header_length && *header_length > body.size()) {
    refuse("has " + std::to_string(body.size()) + " bytes, fewer than the " +
           std::to_string(*header_length) + " of its JSON alone");
  }
  const std::string_view json = header_length ? body.substr(0, *header_length) : body;
  Answer answer;
  Reader reader(limits, answer);
  try {
    if (!Json::sax_parse(json.begin(), json.end(), &reader)) refuse("is no JSON");
  } catch (const nlohmann::json::exception& e) {
    refuse(std::string("is no JSON: ") + e.what());
  }
  hand_out_bytes(body.substr(json.size()), answer);
  return answer;
}

const OutputAnswer& matching_output(const Answer& answer, const TensorSpec& spec) {
  const auto named = [&](const OutputAnswer& output) { return output.name == spec.name; };
  const auto found = std::find_if(answer.outputs.begin(), answer.outputs.end(), named);
  if (found == answer.outputs.end()) refuse("has no output \"" + spec.name + '"');
  if (std::find_if(std::next(found), answer.outputs.end(), named) != answer.outputs.end()) {
    refuse("has output \"" + spec.name + "\" twice");
  }
  const std::string wanted = std::string(wire_name(spec.dtype)) + ' ' + shape_text(spec.shape);
  if (!found->shape || found->datatype != wire_name(spec.dtype) ||
      !fits(*found->shape, spec.shape)) {
    refuse("has output \"" + spec.name + "\" as " + found->datatype.substr(0, 40) + ' ' +
           (found->shape ? shape_text(*found->shape) : "without a shape") +
           ", the model's signature has " + wanted);
  }
  check_size(*found, spec.dtype);
  return *found;
}

void copy_output(const OutputAnswer& output, DType dtype, void* memory) {
  if (!output.binary_size) {
    store_numbers(output.numbers, dtype, output.name, memory);
  } else if (!output.bytes.empty()) {
    std::memcpy(memory, output.bytes.data(), output.bytes.size());
  }
}

}  // namespace kserve
