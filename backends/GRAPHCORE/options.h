#pragma once

// What the user may choose (GRAPHCORE.json), and what the model of the chip makes of it.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/backend.hpp"
#include "chips.h"

namespace graphcore {

// One option as it was asked for and as it is used.
struct OptionRow {
  std::string name;
  std::string requested;
  std::string effective;
  std::string note;  // why they differ, or what the option does not do here; "" otherwise
};

struct Options {
  std::string device = "auto";     // auto, ipu, ipu_model
  std::string precision = "fp32";  // fp16, fp32
  std::string partials_type = "float";
  std::string partials_type_matmuls = "unset";  // half, float, unset: as partials_type
  double available_memory_proportion = 0.6;     // of a tile, for the temporaries of one operator
  std::int64_t batches_per_step = 1;
  std::int64_t num_ipus = 1;
  std::int64_t replication_factor = 1;
  std::string ipu_version = "c600";
  bool stochastic_rounding = false;
  std::optional<std::uint64_t> seed;  // none: drawn at load
  bool fp_exceptions = false;
  bool nanoo = false;  // overflow becomes NaN instead of saturating
  std::int64_t io_tiles = 0;
  bool prefetch = true;
  std::int64_t clients = 1;
  std::vector<std::string> stay_fp32;  // operator types whose results are not rounded to fp16
  std::map<std::string, std::string> popart;  // others, by popart's own names
  std::string cache_folder;                   // "": no cache

  bool half() const { return precision == "fp16"; }
  bool half_partials() const { return half() && partials_type == "half"; }
  bool half_partials_matmul() const {
    return half() &&
           (partials_type_matmuls == "unset" ? partials_type : partials_type_matmuls) == "half";
  }
  bool rounds_randomly() const { return half() && stochastic_rounding; }
  const Chip& chip() const { return *find_chip(ipu_version); }
};

// Every option with requested and effective value, in the order of the profile; the ones passed
// through follow.
std::vector<OptionRow> option_rows(const Options& options);

// The answers in configs.interact_info. Throws ASSAY_INVALID_ARGUMENT naming what is accepted.
Options options_from_answers(const assay::backend::Document& configs);

// The same from names and texts; nullopt stands for the default.
Options options_from_texts(
    const std::function<std::optional<std::string>(const std::string& name)>& text_of);

// Samples of one call: `batch` is that of one step of the graph. Used wherever a buffer is sized.
std::int64_t samples_per_call(std::int64_t batch, std::int64_t batches_per_step,
                              std::int64_t replication);

}  // namespace graphcore
