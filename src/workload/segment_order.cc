#include "workload/segment_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/suggest.h"
#include "workload/comma_list.h"

namespace assay::workload {
namespace {

constexpr std::size_t kModel = static_cast<std::size_t>(-1);  // the giver of the model's inputs

// Equal but for the first dimension, the batch; a free dimension fits any.
bool may_be_same(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 1; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] >= 0 && b[i] >= 0) return false;
  }
  return true;
}

class Orderer {
 public:
  Orderer(std::span<const Segment> segments, const ModelEnds& model) {
    for (const auto& [name, shape] : model.inputs) givers_[name] = {kModel, shape};
    for (std::size_t i = 0; i < segments.size(); ++i) add_outputs(segments, i);
    for (std::size_t i = 0; i < segments.size(); ++i) add_inputs(segments, i);
    for (const std::string& name : model.outputs) {
      if (!givers_.contains(name)) {
        report(fmt::format("no segment gives the model's output \"{}\"{}", name, hint(name)));
      }
    }
  }

  Result<std::vector<std::size_t>> order(std::span<const Segment> segments) {
    std::vector<std::size_t> order;
    std::vector<bool> done(segments.size(), false);
    while (order.size() < segments.size()) {
      const auto ready = next(done);
      if (!ready) break;
      done[*ready] = true;
      order.push_back(*ready);
    }
    if (order.size() < segments.size()) {
      std::vector<std::int64_t> waiting;
      for (std::size_t i = 0; i < segments.size(); ++i) {
        if (!done[i]) waiting.push_back(segments[i].index);
      }
      report(fmt::format("segments {} wait for each other's outputs", fmt::join(waiting, ", ")));
    }
    if (problems_.empty()) return order;
    return invalid_argument(fmt::format("{}", fmt::join(problems_, "\n")));
  }

 private:
  struct Giver {
    std::size_t segment = kModel;
    std::optional<Shape> shape;
  };

  void report(std::string problem) { problems_.push_back("segments: " + std::move(problem)); }

  std::string hint(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& [given, giver] : givers_) names.push_back(given);
    return did_you_mean(name, names);
  }

  std::string name_of(std::span<const Segment> segments, std::size_t giver) const {
    return giver == kModel ? "the model's input" : fmt::format("segment {}", segments[giver].index);
  }

  void add_outputs(std::span<const Segment> segments, std::size_t at) {
    const Segment& segment = segments[at];
    if (segment.outputs.empty()) {
      report(fmt::format("segment {} names no output in output_tensor_map", segment.index));
    }
    for (const auto& [name, shape] : segment.outputs) {
      const auto [found, is_new] = givers_.try_emplace(name, Giver{at, shape});
      if (is_new) continue;
      report(fmt::format("\"{}\" comes from {} and from segment {}, accepted: from one", name,
                         name_of(segments, found->second.segment), segment.index));
    }
  }

  void add_inputs(std::span<const Segment> segments, std::size_t at) {
    const Segment& segment = segments[at];
    std::set<std::size_t>& needed = needs_.emplace_back();
    if (segment.inputs.empty()) {
      report(fmt::format("segment {} names no input in input_tensor_map", segment.index));
    }
    for (const auto& [name, shape] : segment.inputs) {
      const auto found = givers_.find(name);
      if (found == givers_.end()) {
        report(fmt::format("segment {} takes \"{}\", which neither the model nor a segment gives{}",
                           segment.index, name, hint(name)));
        continue;
      }
      const Giver& giver = found->second;
      if (giver.segment != kModel) needed.insert(giver.segment);
      if (!shape || !giver.shape || may_be_same(*giver.shape, *shape)) continue;
      report(fmt::format("\"{}\": {} gives {}, segment {} takes {}", name,
                         name_of(segments, giver.segment), to_string(*giver.shape), segment.index,
                         to_string(*shape)));
    }
  }

  std::optional<std::size_t> next(const std::vector<bool>& done) const {
    for (std::size_t i = 0; i < needs_.size(); ++i) {
      const bool ready =
          std::ranges::all_of(needs_[i], [&](std::size_t other) { return done[other]; });
      if (!done[i] && ready) return i;
    }
    return std::nullopt;
  }

  std::map<std::string, Giver> givers_;  // of every tensor between segments
  std::vector<std::set<std::size_t>> needs_;
  std::vector<std::string> problems_;
};

}  // namespace

ModelEnds model_ends(const Json& model_info) {
  ModelEnds ends;
  if (!model_info.is_object()) return ends;
  const Json shapes = model_info.value("input_shape", Json::object());
  for (const std::string& name : name_list(model_info.value("inputs", Json()))) {
    const auto shape = shapes.find(name);
    const bool known = shape != shapes.end() && shape->is_array() &&
                       std::ranges::all_of(*shape, &Json::is_number_integer);
    ends.inputs.emplace_back(name, known ? std::optional(shape->get<Shape>()) : std::nullopt);
  }
  ends.outputs = name_list(model_info.value("outputs", Json()));
  return ends;
}

Result<std::vector<std::size_t>> order_segments(std::span<const Segment> segments,
                                                const ModelEnds& model) {
  if (segments.size() == 1) return std::vector<std::size_t>{0};
  return Orderer(segments, model).order(segments);
}

}  // namespace assay::workload
