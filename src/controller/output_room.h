#pragma once

// Room for outputs whose size a model does not tell beforehand. Internal to controller.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/result.h"
#include "controller/typed_object.h"

namespace assay::controller {

// What a worker's answer says that an output slot has to have; 0 when all outputs fitted.
Result<std::uint64_t> missing_output_bytes(const TypedObject& answer);

// Calls `attempt` with the bytes of an output slot, `guess_bytes` first, until it gives 0: all
// outputs fitted. Else it gives the bytes that a slot has to have, as missing_output_bytes has
// them, and is called again with at least those and at least twice what it had. Gives the bytes
// that sufficed; the error of `attempt`; or kResourceExhausted when there is no end to it.
Result<std::size_t> grow_output_room(
    std::size_t guess_bytes, const std::function<Result<std::uint64_t>(std::size_t)>& attempt);

}  // namespace assay::controller
