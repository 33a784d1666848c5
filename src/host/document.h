#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/backend.h"
#include "base/result.h"

namespace assay::host {

// JSON text in the form in which it crosses the boundary: whole, and as leaves with dotted names.
// Immutable. The struct points into this object, which must outlive its use.
class BoundaryDocument {
 public:
  // kInvalidArgument when `json` is not JSON; "" stands for {}.
  static Result<BoundaryDocument> parse(std::string_view json);

  BoundaryDocument(BoundaryDocument&&) noexcept = default;
  BoundaryDocument& operator=(BoundaryDocument&&) noexcept = default;

  assay_document get() const;

 private:
  struct Leaf {
    std::string name;
    std::string value;
    std::uint32_t kind;
  };
  BoundaryDocument(std::string json, std::vector<Leaf> leaves);

  std::string json_;
  std::vector<Leaf> leaves_;
  std::vector<assay_option> options_;
};

}  // namespace assay::host
