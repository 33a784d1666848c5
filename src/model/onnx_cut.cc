#include "model/onnx_cut.h"

#include <fmt/format.h>
#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/file.h"
#include "model/model.h"
#include "model/onnx_external.h"
#include "model/onnx_file.h"
#include "model/onnx_order.h"
#include "model/onnx_signature.h"
#include "model/onnx_types.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Known = std::map<std::string, TensorSpec>;

std::string full_op_type(const onnx::NodeProto& node) {
  if (node.domain().empty() || node.domain() == "ai.onnx") return node.op_type();
  return node.domain() + "." + node.op_type();
}

// What a cut consists of, by the names and places of the whole model.
struct Plan {
  std::set<std::int64_t> operators;
  std::unordered_set<std::string> initializers;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

// The tensors that leave first..last. Constant ones do so only as outputs of the model: later
// operators make them anew.
std::vector<std::string> frontier(const OperatorOrder& order, std::int64_t first,
                                  std::int64_t last) {
  std::vector<std::string> names;
  for (std::int64_t i = first; i <= last; ++i) {
    for (const std::string& name : order.makes(i)) {
      const std::int64_t reader = order.last_reader(name);
      if (reader == order.size() || (reader > last && !order.constant(i))) names.push_back(name);
    }
  }
  return names;
}

// Works back from the outputs.
Plan make_plan(const OperatorOrder& order, std::int64_t first, std::int64_t last) {
  Plan plan;
  plan.outputs = frontier(order, first, last);
  std::set<std::string> outside;
  std::vector<std::string> pending = plan.outputs;
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    const std::int64_t maker = order.maker(name);
    if (maker < 0 && order.initializer(name)) {
      plan.initializers.insert(name);
    } else if (maker < 0 || (maker < first && !order.constant(maker))) {
      outside.insert(name);
    } else if (plan.operators.insert(maker).second) {
      const auto& reads = order.reads(maker);
      pending.insert(pending.end(), reads.begin(), reads.end());
    }
  }
  plan.inputs.assign(outside.begin(), outside.end());
  return plan;
}

// Inputs of the model in its order, then the others in the order of their making.
void sort_inputs(const onnx::GraphProto& graph, const OperatorOrder& order, Plan& plan) {
  std::unordered_map<std::string, std::int64_t> places;
  for (int i = 0; i < graph.input_size(); ++i) {
    places.emplace(graph.input(i).name(), i - graph.input_size());
  }
  for (std::int64_t i = 0, place = 0; i < order.size(); ++i) {
    for (const std::string& name : order.makes(i)) places.emplace(name, place++);
  }
  std::sort(plan.inputs.begin(), plan.inputs.end(),
            [&](const auto& a, const auto& b) { return places.at(a) < places.at(b); });
}

// Tells the types of the tensors at the cut. Borrows the graph.
class CutTypes {
 public:
  CutTypes(const onnx::GraphProto& graph, const Known& known)
      : types_(infer_element_types(graph)), known_(known) {
    const auto remember = [&](const auto& values) {
      for (const auto& value : values) declared_.emplace(value.name(), value);
    };
    remember(graph.input());
    remember(graph.output());
    remember(graph.value_info());
  }

  Result<onnx::ValueInfoProto> of(const std::string& name) const {
    onnx::ValueInfoProto value;
    value.set_name(name);
    const auto declared = declared_.find(name);
    if (declared != declared_.end()) value = declared->second;
    const auto type = types_.find(name);
    const auto known = known_.find(name);
    if (known != known_.end()) {
      RETURN_IF_ERROR(check(known->second, type == types_.end() ? 0 : type->second));
      set_known(known->second, value);
    } else if (type != types_.end()) {
      value.mutable_type()->mutable_tensor_type()->set_elem_type(type->second);
    } else {
      return failed_precondition(
          fmt::format("the type of tensor \"{}\" at the cut is unknown; pass it", name));
    }
    return value;
  }

 private:
  static Status check(const TensorSpec& known, int type) {
    if (type == 0 || dtype_of_onnx(type) == known.dtype) return ok_status();
    return invalid_argument(fmt::format(
        "tensor {}: the model says {}", to_string(known),
        onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(type))));
  }

  static void set_known(const TensorSpec& known, onnx::ValueInfoProto& value) {
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx_of_dtype(known.dtype));
    type.clear_shape();
    for (const std::int64_t dim : known.shape) {
      auto& made = *type.mutable_shape()->add_dim();
      if (dim >= 0) made.set_dim_value(dim);
    }
    type.mutable_shape();  // a scalar has a shape too
  }

  const ElementTypes types_;
  const Known& known_;
  std::unordered_map<std::string, onnx::ValueInfoProto> declared_;
};

// Moves to `to` those of `from` that `wanted` accepts.
template <typename Parts, typename Wanted>
void keep(Parts& from, Parts& to, const Wanted& wanted) {
  for (auto& part : from) {
    if (wanted(part)) to.Add()->Swap(&part);
  }
}

// What stays of the graph as it is. Its inputs and outputs are still to be added.
onnx::GraphProto cut_graph(onnx::GraphProto& whole, const OperatorOrder& order, const Plan& plan) {
  onnx::GraphProto graph;
  graph.set_name(whole.name());
  graph.set_doc_string(whole.doc_string());
  graph.mutable_metadata_props()->Swap(whole.mutable_metadata_props());

  std::unordered_set<std::string> inside = plan.initializers;
  for (const std::int64_t index : plan.operators) {
    graph.add_node()->Swap(whole.mutable_node(static_cast<int>(index)));
    inside.insert(order.makes(index).begin(), order.makes(index).end());
  }
  const std::unordered_set<std::string> outputs(plan.outputs.begin(), plan.outputs.end());
  const auto is_inside = [&](const std::string& name) { return inside.contains(name); };
  keep(*whole.mutable_initializer(), *graph.mutable_initializer(),
       [&](const auto& tensor) { return plan.initializers.contains(tensor.name()); });
  keep(*whole.mutable_sparse_initializer(), *graph.mutable_sparse_initializer(),
       [&](const auto& sparse) { return plan.initializers.contains(sparse.values().name()); });
  keep(*whole.mutable_value_info(), *graph.mutable_value_info(), [&](const auto& value) {
    return is_inside(value.name()) && !outputs.contains(value.name());
  });
  keep(*whole.mutable_quantization_annotation(), *graph.mutable_quantization_annotation(),
       [&](const auto& annotation) { return is_inside(annotation.tensor_name()); });
  // Old files list initialisers among the inputs.
  keep(*whole.mutable_input(), *graph.mutable_input(),
       [&](const auto& value) { return plan.initializers.contains(value.name()); });
  return graph;
}

Status check_range(const OperatorOrder& order, std::int64_t first, std::int64_t last) {
  if (first >= 0 && first <= last && last < order.size()) return ok_status();
  return out_of_range(
      fmt::format("operators {}..{}: the model has {}, counted from 0", first, last, order.size()));
}

// Turns `proto` into the cut.
Status cut(onnx::ModelProto& proto, std::int64_t first, std::int64_t last, const Known& known,
           CutModel& figures) {
  ASSIGN_OR_RETURN(const OperatorOrder order, OperatorOrder::of(proto.graph()));
  RETURN_IF_ERROR(check_range(order, first, last));
  Plan plan = make_plan(order, first, last);
  if (plan.outputs.empty()) {
    return invalid_argument(fmt::format(
        "operators {}..{} compute nothing of the model's inputs that is used later", first, last));
  }
  sort_inputs(proto.graph(), order, plan);

  onnx::GraphProto ends;
  const CutTypes types(proto.graph(), known);
  for (const std::string& name : plan.inputs) {
    ASSIGN_OR_RETURN(*ends.add_input(), types.of(name));
  }
  for (const std::string& name : plan.outputs) {
    ASSIGN_OR_RETURN(*ends.add_output(), types.of(name));
  }
  onnx::GraphProto graph = cut_graph(*proto.mutable_graph(), order, plan);
  ends.mutable_input()->MergeFrom(graph.input());
  graph.mutable_input()->Swap(ends.mutable_input());
  graph.mutable_output()->Swap(ends.mutable_output());
  proto.mutable_graph()->Swap(&graph);

  ModelFile written;
  RETURN_IF_ERROR(read_signature(proto.graph(), written));
  figures.signature = std::move(written.signature);
  figures.operators = static_cast<std::int64_t>(plan.operators.size());
  return ok_status();
}

Result<CutModel> load_and_cut(const fs::path& model, std::int64_t first, std::int64_t last,
                              const fs::path& to, const Known& known) {
  onnx::ModelProto proto;
  RETURN_IF_ERROR(load_onnx(model, proto));
  CutModel figures;
  RETURN_IF_ERROR(cut(proto, first, last, known, figures));
  RETURN_IF_ERROR(embed_external_data(proto, model));
  RETURN_IF_ERROR(save_onnx(proto, to));
  return figures;
}

Result<std::vector<OperatorInfo>> load_and_list(const fs::path& model) {
  onnx::ModelProto proto;
  RETURN_IF_ERROR(load_onnx(model, proto));
  ASSIGN_OR_RETURN(const OperatorOrder order, OperatorOrder::of(proto.graph()));
  std::vector<OperatorInfo> operators;
  for (const onnx::NodeProto& node : proto.graph().node()) {
    const auto index = static_cast<std::int64_t>(operators.size());
    operators.push_back({index, node.name(), full_op_type(node), order.reads(index),
                         order.makes(index), order.constant(index), order.used(index)});
  }
  return operators;
}

}  // namespace

Result<std::vector<OperatorInfo>> list_operators(const fs::path& model) {
  auto operators = load_and_list(model);
  if (!operators.ok()) return operators.status().with_context(quoted(model));
  return operators;
}

Result<CutModel> write_cut(const fs::path& model, std::int64_t first, std::int64_t last,
                           const fs::path& to, const std::map<std::string, TensorSpec>& known) {
  auto made = load_and_cut(model, first, last, to, known);
  if (!made.ok()) return made.status().with_context(quoted(model));
  return made;
}

}  // namespace assay
