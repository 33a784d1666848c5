#pragma once

// Where a model's bytes lie on the tiles, and how many cycles each operator takes. A model of the
// chip from its published peaks: docs/reference/ipu-model.md says which numbers are published and
// which are assumed.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "onnx_model.h"
#include "options.h"
#include "tensor_fact.h"

namespace graphcore {

// One operator at one batch size. Bytes are of one tile, cycles of the slowest tile.
struct OperatorPlan {
  std::string op;
  std::string tensor;  // its first result
  std::int64_t macs = 0;
  std::int64_t compute_cycles = 0;
  std::int64_t exchange_cycles = 0;
  std::int64_t sync_cycles = 0;
  std::int64_t live_bytes = 0;      // activations that are needed then or later
  std::int64_t exchange_bytes = 0;  // buffers for what comes from other tiles
  std::int64_t passes = 1;          // that the buffers' limit makes of it

  std::int64_t cycles() const { return compute_cycles + exchange_cycles + sync_cycles; }
};

struct Plan {
  std::int64_t batch = 1;
  std::int64_t tiles = 0;  // that compute, of all chips of a replica
  std::int64_t tile_bytes = 0;
  std::int64_t weight_bytes = 0;  // of one tile
  std::int64_t code_bytes = 0;    // of one tile
  std::vector<OperatorPlan> operators;

  std::int64_t cycles() const;
  std::int64_t macs() const;
  // The operator at which a tile holds most, or nullptr without operators.
  const OperatorPlan* fullest() const;
  std::int64_t bytes_at(const OperatorPlan& op) const;
};

// What the plan reads of a compiled model.
struct PlanInput {
  const onnx::ModelProto* model = nullptr;            // folded, not lowered
  const std::map<std::string, int>* types = nullptr;  // of lower.h
  const TensorFacts* one = nullptr;                   // facts at a batch of 1
  const TensorFacts* two = nullptr;  // and of 2; the same again when the batch is fixed
};

Plan plan_model(const PlanInput& input, const Options& options, std::int64_t batch);

// Throws ASSAY_RESOURCE_EXHAUSTED, naming the operator, the tile's bytes and by how many they are
// exceeded, when a tile overflows.
void check_fits(const Plan& plan, const Options& options);

// Samples a second of one replica by the plan's cycles at the chip's clock.
double modelled_rate(const Plan& plan, const Chip& chip);
// Of the peak of multiply-adds, 0..1.
double utilisation(const Plan& plan, const Options& options);

}  // namespace graphcore
