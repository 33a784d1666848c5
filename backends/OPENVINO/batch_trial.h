#pragma once

#include <cstdint>
#include <openvino/core/any.hpp>
#include <openvino/core/model.hpp>
#include <string>
#include <vector>

#include "assay/backend.hpp"
#include "batch.h"

namespace openvino {

// Why a model of fixed batch cannot be run at other batch sizes, or "" when it was seen to follow:
// twice its batch in one run gave the values of two runs, row for row, on data that two runs tell
// apart. A constant inside a graph may hold the batch, which its shapes alone do not show.
std::string fixed_batch_objection(const ov::Model& model, const std::vector<BatchAxis>& axes,
                                  const assay::backend::Document& configs,
                                  assay::backend::DataLoader& data, const ov::AnyMap& settings);

}  // namespace openvino
