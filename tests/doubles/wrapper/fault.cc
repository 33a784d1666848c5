#include "fault.h"

#include <array>

namespace wrapper {
namespace {

using assay::backend::Error;

constexpr std::string_view kNone = "none";

std::array<std::span<const FaultRow>, 7> tables() {
  return {state_faults(),    batch_faults(),     compile_faults(), random_faults(),
          pipeline_faults(), picture_variants(), model_faults()};
}

const FaultRow* find(std::string_view name) {
  for (const std::span<const FaultRow> table : tables()) {
    for (const FaultRow& row : table) {
      if (name == row.name) return &row;
    }
  }
  return nullptr;
}

}  // namespace

std::uint64_t FaultSetup::after(std::int64_t otherwise) const {
  const std::int64_t calls = configs.integer("interact_info.fault_after", otherwise);
  if (calls < 0) {
    throw Error(ASSAY_INVALID_ARGUMENT,
                "option fault_after: found " + std::to_string(calls) + ", accepted: 0 or more");
  }
  return static_cast<std::uint64_t>(calls);
}

std::string chosen_fault(const assay::backend::Document& configs) {
  std::string name = configs.text("interact_info.fault", kNone);
  if (name == kNone || find(name) != nullptr) return name;
  std::string accepted(kNone);
  for (const std::span<const FaultRow> table : tables()) {
    for (const FaultRow& row : table) accepted.append(", ").append(row.name);
  }
  throw Error(ASSAY_INVALID_ARGUMENT,
              "option fault: found \"" + name + "\", accepted: " + accepted);
}

std::unique_ptr<Fault> make_chosen_fault(const FaultSetup& setup) {
  const std::string name = chosen_fault(setup.configs);
  return name == kNone ? nullptr : find(name)->make(setup);
}

}  // namespace wrapper
