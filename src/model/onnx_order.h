#pragma once

// Who makes and who reads which tensor of a graph.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace assay {

// The operators of one graph by their place in it, which is a topological order. Holds no part of
// the graph.
class OperatorOrder {
 public:
  // kDataLoss when an operator reads what is made after it or nowhere.
  static Result<OperatorOrder> of(const onnx::GraphProto& graph);

  std::int64_t size() const { return static_cast<std::int64_t>(operators_.size()); }
  const std::vector<std::string>& reads(std::int64_t index) const { return at(index).reads; }
  const std::vector<std::string>& makes(std::int64_t index) const { return at(index).makes; }
  // Depends on no input of the graph, and is the same in every run.
  bool constant(std::int64_t index) const { return at(index).constant; }
  // An output of the graph depends on it.
  bool used(std::int64_t index) const { return at(index).used; }

  // Which operator makes `name`; -1 for inputs and initialisers.
  std::int64_t maker(const std::string& name) const;
  // The last used operator that reads `name` and is not constant; size() for an output of the
  // graph, -1 for none.
  std::int64_t last_reader(const std::string& name) const;
  bool initializer(const std::string& name) const { return initializers_.contains(name); }

 private:
  struct Operator {
    std::vector<std::string> reads;
    std::vector<std::string> makes;
    bool constant = false;
    bool used = false;
  };

  const Operator& at(std::int64_t index) const {
    return operators_[static_cast<std::size_t>(index)];
  }
  bool is_constant(const std::string& name) const;
  Status add_operators(const onnx::GraphProto& graph);
  void mark_used(const onnx::GraphProto& graph);
  void find_last_readers(const onnx::GraphProto& graph);

  std::vector<Operator> operators_;
  std::unordered_set<std::string> inputs_;
  std::unordered_set<std::string> initializers_;
  std::unordered_map<std::string, std::int64_t> makers_;
  std::unordered_map<std::string, std::int64_t> last_readers_;
};

}  // namespace assay
