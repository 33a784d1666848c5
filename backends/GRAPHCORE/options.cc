#include "options.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>

namespace graphcore {
namespace {

using assay::backend::Document;
using assay::backend::Error;
using TextOf = std::function<std::optional<std::string>(const std::string& name)>;

// The steps of a normalisation's statistics: squares overflow fp16, and their means underflow.
constexpr const char* kStayFp32 = "Pow,ReduceMean,Sqrt";
constexpr std::int64_t kMostCount = 65536;

[[noreturn]] void refuse(const std::string& name, const std::string& value,
                         const std::string& accepted) {
  throw Error(ASSAY_INVALID_ARGUMENT,
              "option " + name + ": found \"" + value + "\", accepted: " + accepted);
}

std::string choice(const TextOf& text_of, const std::string& name, std::string fallback,
                   std::initializer_list<std::string_view> choices) {
  const std::string value = text_of(name).value_or(std::move(fallback));
  std::string accepted;
  for (const std::string_view each : choices) {
    if (value == each) return value;
    accepted += (accepted.empty() ? "" : ", ") + std::string(each);
  }
  refuse(name, value, accepted);
}

template <typename Number>
bool parse(const std::string& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && parsed == end;
}

std::int64_t count(const TextOf& text_of, const std::string& name, std::int64_t fallback,
                   std::int64_t least, std::int64_t most = kMostCount) {
  const auto value = text_of(name);
  if (!value) return fallback;
  std::int64_t number = 0;
  if (!parse(*value, number) || number < least || number > most) {
    refuse(name, *value, "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

bool flag(const TextOf& text_of, const std::string& name, bool fallback) {
  const std::string value = choice(text_of, name, fallback ? "true" : "false", {"true", "false"});
  return value == "true";
}

double proportion(const TextOf& text_of, const std::string& name, double fallback) {
  const auto value = text_of(name);
  if (!value) return fallback;
  double number = 0;
  if (!parse(*value, number) || !(number > 0 && number <= 1)) {
    refuse(name, *value, "a number above 0, at most 1");
  }
  return number;
}

std::optional<std::uint64_t> seed(const TextOf& text_of) {
  const std::string value = text_of("seed").value_or("random");
  if (value == "random") return std::nullopt;
  std::uint64_t number = 0;
  if (!parse(value, number)) refuse("seed", value, "random, or a number from 0 to 2^64 - 1");
  return number;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::map<std::string, std::string> passed_through(const TextOf& text_of) {
  std::map<std::string, std::string> options;
  const std::string text = text_of("popart_options").value_or("none");
  if (text == "none") return options;
  for (const std::string& part : split(text)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      refuse("popart_options", text, "none, or name=value pairs separated by commas");
    }
    options[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return options;
}

std::string ipu_version(const TextOf& text_of) {
  std::string name = text_of("ipu_version").value_or("c600");
  if (find_chip(name) == nullptr) refuse("ipu_version", name, chip_names());
  return name;
}

void check_together(const Options& options) {
  const std::int64_t tiles = options.chip().tiles;
  if (options.io_tiles >= tiles) {
    refuse("io_tiles", std::to_string(options.io_tiles),
           "fewer than the " + std::to_string(tiles) + " tiles of the chip");
  }
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text.empty() ? "none" : text;
}

std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

const char* flag_text(bool value) { return value ? "true" : "false"; }

void add_precision_rows(const Options& options, std::vector<OptionRow>& rows) {
  const char* const fp32 = options.half() ? "" : "precision fp32 has float partials only";
  const std::string partials = options.half_partials() ? "half" : "float";
  const std::string matmuls = options.half_partials_matmul() ? "half" : "float";
  rows.push_back({"precision", options.precision, options.precision, ""});
  rows.push_back({"partials_type", options.partials_type, partials, fp32});
  rows.push_back(
      {"partialsTypeMatMuls", options.partials_type_matmuls, matmuls,
       options.partials_type_matmuls == "unset" ? "unset: goes by partials_type" : fp32});
  rows.push_back({"stay_fp32", joined(options.stay_fp32),
                  options.half() ? joined(options.stay_fp32) : "all", ""});
}

void add_rounding_rows(const Options& options, std::vector<OptionRow>& rows) {
  const char* const only_fp16 = options.half() ? "" : "precision fp32 does not round to fp16";
  rows.push_back({"stochastic_rounding", flag_text(options.stochastic_rounding),
                  flag_text(options.rounds_randomly()), only_fp16});
  const std::string asked = options.seed ? std::to_string(*options.seed) : "random";
  rows.push_back({"seed", asked, options.rounds_randomly() ? asked : "unused",
                  options.rounds_randomly() ? (options.seed ? "" : "drawn anew by each load")
                                            : "nothing is drawn"});
  rows.push_back(
      {"fp_exceptions", flag_text(options.fp_exceptions), flag_text(options.fp_exceptions), ""});
  rows.push_back(
      {"nanoo", flag_text(options.nanoo), flag_text(options.half() && options.nanoo), only_fp16});
}

}  // namespace

Options options_from_texts(const TextOf& text_of) {
  Options options;
  options.device = choice(text_of, "device", "auto", {"auto", "ipu", "ipu_model"});
  options.precision = choice(text_of, "precision", "fp32", {"fp16", "fp32"});
  options.partials_type = choice(text_of, "partials_type", "float", {"float", "half"});
  options.partials_type_matmuls =
      choice(text_of, "partialsTypeMatMuls", "unset", {"unset", "float", "half"});
  options.available_memory_proportion = proportion(text_of, "available_memory_proportion", 0.6);
  options.batches_per_step = count(text_of, "batches_per_step", 1, 1);
  options.num_ipus = count(text_of, "num_ipus", 1, 1, 64);
  options.replication_factor = count(text_of, "replication_factor", 1, 1, 64);
  options.ipu_version = ipu_version(text_of);
  options.stochastic_rounding = flag(text_of, "stochastic_rounding", false);
  options.seed = seed(text_of);
  options.fp_exceptions = flag(text_of, "fp_exceptions", false);
  options.nanoo = flag(text_of, "nanoo", false);
  options.io_tiles = count(text_of, "io_tiles", 0, 0);
  options.prefetch = flag(text_of, "prefetch", true);
  options.clients = count(text_of, "clients", 1, 1);
  const std::string stay = text_of("stay_fp32").value_or("default");
  options.stay_fp32 = split(stay == "default" ? kStayFp32 : stay == "none" ? "" : stay);
  options.popart = passed_through(text_of);
  options.cache_folder = text_of("cache").value_or("off");
  if (options.cache_folder == "off") options.cache_folder.clear();
  check_together(options);
  return options;
}

Options options_from_answers(const Document& configs) {
  return options_from_texts([&](const std::string& name) -> std::optional<std::string> {
    const std::string key = "interact_info." + name;
    if (!configs.has(key)) return std::nullopt;
    // An answer comes as the text, the number or the truth value that was typed.
    try {
      return configs.text(key);
    } catch (const Error&) {
    }
    try {
      return std::to_string(configs.integer(key));
    } catch (const Error&) {
    }
    try {
      return flag_text(configs.flag(key, false));
    } catch (const Error&) {
      return number_text(configs.number(key, 0));
    }
  });
}

std::vector<OptionRow> option_rows(const Options& options) {
  std::vector<OptionRow> rows;
  rows.push_back({"device", options.device, "ipu_model",
                  options.device == "auto" ? "no chip is used: the answers are the model's" : ""});
  add_precision_rows(options, rows);
  const auto same = [&](const char* name, const std::string& value, const char* note = "") {
    rows.push_back({name, value, value, note});
  };
  same("available_memory_proportion", number_text(options.available_memory_proportion));
  same("batches_per_step", std::to_string(options.batches_per_step));
  same("num_ipus", std::to_string(options.num_ipus), "for the memory plan and the cycles");
  same("replication_factor", std::to_string(options.replication_factor));
  same("ipu_version", options.ipu_version);
  add_rounding_rows(options, rows);
  same("io_tiles", std::to_string(options.io_tiles), "taken from those that compute");
  same("prefetch", flag_text(options.prefetch), "recorded; the model has no host link");
  same("clients", std::to_string(options.clients), "recorded; the model has no host link");
  same("cache", options.cache_folder.empty() ? "off" : options.cache_folder);
  for (const auto& [name, value] : options.popart) {
    rows.push_back({name, value, "passed through", "the model of the chip does not use it"});
  }
  return rows;
}

std::int64_t samples_per_call(std::int64_t batch, std::int64_t batches_per_step,
                              std::int64_t replication) {
  return batch * batches_per_step * replication;
}

}  // namespace graphcore
