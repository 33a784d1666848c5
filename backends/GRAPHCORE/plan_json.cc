#include "plan_json.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace graphcore {

using Json = nlohmann::ordered_json;

namespace {

Json row_json(const Plan& plan, const Options& options) {
  Json row = {{"batch_size", plan.batch},
              {"simulated", true},
              {"cycles", plan.cycles()},
              {"seconds", static_cast<double>(plan.cycles()) / options.chip().clock_hz},
              {"samples_per_second", modelled_rate(plan, options.chip())},
              {"utilisation", utilisation(plan, options)},
              {"tile_bytes", plan.tile_bytes}};
  if (const OperatorPlan* const op = plan.fullest()) {
    row["tile_bytes_used"] = plan.bytes_at(*op);
    row["fullest_operator"] = {{"op", op->op},
                               {"tensor", op->tensor},
                               {"weights", plan.weight_bytes},
                               {"code", plan.code_bytes},
                               {"activations", op->live_bytes},
                               {"exchange", op->exchange_bytes}};
  }
  return row;
}

// What the report shows of one batch size.
void add_figures(const Plan& plan, const Options& options, Json& figures) {
  const std::string batch = ", batch " + std::to_string(plan.batch);
  const auto add = [&](const char* name, const Json& value, const char* unit) {
    figures.push_back({{"name", name + batch}, {"value", value}, {"unit", unit}});
  };
  const auto cycles = static_cast<double>(plan.cycles());
  add("time of a call", cycles / options.chip().clock_hz * 1e9, "ns");
  add("cycles of a call", plan.cycles(), "cycles");
  add("rate", modelled_rate(plan, options.chip()), "samples/s");
  add("share of the peak in use", 100 * utilisation(plan, options), "%");
  if (const OperatorPlan* const op = plan.fullest()) {
    add("memory of the fullest tile", plan.bytes_at(*op), "bytes");
  }
  add("memory of a tile", plan.tile_bytes, "bytes");
}

// The ones that take most, first.
Json operators_json(const Plan& plan) {
  constexpr std::size_t kMost = 20;
  std::vector<const OperatorPlan*> order;
  for (const OperatorPlan& op : plan.operators) order.push_back(&op);
  std::stable_sort(order.begin(), order.end(), [](const OperatorPlan* a, const OperatorPlan* b) {
    return a->cycles() > b->cycles();
  });
  Json list = Json::array();
  for (std::size_t i = 0; i < order.size() && i < kMost; ++i) {
    const double share =
        static_cast<double>(order[i]->cycles()) / static_cast<double>(plan.cycles());
    list.push_back({{"name", order[i]->tensor},
                    {"op", order[i]->op},
                    {"cycles", order[i]->cycles()},
                    {"share", std::min(share, 1.0)}});
  }
  return list;
}

}  // namespace

Json modelled_json(const std::vector<Plan>& plans, const Options& options) {
  Json rows = Json::array();
  Json figures = Json::array();
  for (const Plan& plan : plans) {
    rows.push_back(row_json(plan, options));
    add_figures(plan, options, figures);
  }
  return {{"simulated", true},
          {"device", options.chip().title},
          {"clock_hz", options.chip().clock_hz},
          {"tiles", plans.empty() ? 0 : plans.front().tiles},
          {"figures", std::move(figures)},
          {"operators", plans.empty() ? Json::array() : operators_json(plans.front())},
          {"rows", std::move(rows)},
          {"checked_against",
           "A model, checked against the published peaks and the published ResNet-50 rates of a "
           "C600, not against a chip; the host link is not in it."}};
}

Json plan_json(const std::vector<Plan>& plans) {
  Json list = Json::array();
  for (const Plan& plan : plans) {
    Json operators = Json::array();
    for (const OperatorPlan& op : plan.operators) {
      operators.push_back({{"op", op.op},
                           {"tensor", op.tensor},
                           {"macs", op.macs},
                           {"compute_cycles", op.compute_cycles},
                           {"exchange_cycles", op.exchange_cycles},
                           {"sync_cycles", op.sync_cycles},
                           {"live_bytes", op.live_bytes},
                           {"exchange_bytes", op.exchange_bytes},
                           {"passes", op.passes}});
    }
    list.push_back({{"batch_size", plan.batch},
                    {"tiles", plan.tiles},
                    {"weight_bytes", plan.weight_bytes},
                    {"code_bytes", plan.code_bytes},
                    {"operators", std::move(operators)}});
  }
  return list;
}

}  // namespace graphcore
