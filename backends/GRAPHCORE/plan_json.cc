#include "plan_json.h"

#include <utility>

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

}  // namespace

Json modelled_json(const std::vector<Plan>& plans, const Options& options) {
  Json rows = Json::array();
  for (const Plan& plan : plans) rows.push_back(row_json(plan, options));
  return {{"simulated", true},
          {"chip", options.chip().title},
          {"clock_hz", options.chip().clock_hz},
          {"tiles", plans.empty() ? 0 : plans.front().tiles},
          {"rows", std::move(rows)},
          {"note",
           "a model, checked against the published peaks and the published ResNet-50 rates of a "
           "C600, not against a chip; the host link is not in it"}};
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
