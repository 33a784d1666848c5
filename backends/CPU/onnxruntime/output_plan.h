#pragma once

// Tells the shape of an output from the shapes of the inputs, so that the host's memory can be
// asked for before the model runs and the model writes straight into it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cpu {

// A tensor's shape as the model declares it: -1 where free, with the dimension's name or "".
struct DeclaredShape {
  std::vector<std::int64_t> dims;
  std::vector<std::string> symbols;
};

// One output's shape: each dimension fixed, or equal to a dimension of an input.
class OutputPlan {
 public:
  struct Dim {
    std::int64_t fixed;  // or -1: take it from
    std::size_t input;
    std::size_t axis;
  };

  // None when a free dimension has no name, or one that no input has.
  static std::optional<OutputPlan> make(const DeclaredShape& output,
                                        const std::vector<DeclaredShape>& inputs);

  std::size_t rank() const { return dims_.size(); }

  // Writes rank() dimensions. `input_shape(i)` points to the dimensions of input i.
  template <typename InputShape>
  void resolve(const InputShape& input_shape, std::int64_t* shape) const {
    for (const Dim& dim : dims_) {
      *shape++ = dim.fixed >= 0 ? dim.fixed : input_shape(dim.input)[dim.axis];
    }
  }

 private:
  std::vector<Dim> dims_;
};

}  // namespace cpu
