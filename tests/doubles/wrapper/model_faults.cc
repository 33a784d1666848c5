// Faults of a compiler: it makes another model of the one that it was given. They hold for every
// model that makes the tensor, so also for one that was cut out of a larger one.

#include <onnx/onnx-ml.pb.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "fault.h"

namespace wrapper {
namespace {

namespace fs = std::filesystem;
using assay::backend::Document;
using assay::backend::Error;

constexpr const char* kWrongOperator = "wrong_operator";
constexpr const char* kCrashingOperator = "crashing_operator";
constexpr const char* kHalf = "half";
constexpr const char* kEveryTensor = "*";

onnx::ModelProto read_model(const fs::path& path) {
  onnx::ModelProto model;
  std::ifstream file(path, std::ios::binary);
  if (!model.ParseFromIstream(&file)) throw Error(ASSAY_DATA_LOSS, path.native() + ": no model");
  return model;
}

bool makes(const onnx::GraphProto& graph, const std::string& tensor) {
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      if (output == tensor) return true;
    }
  }
  return false;
}

// Operators whose first output is FLOAT32, as far as these models go: those that give indices,
// shapes or truth values are left alone.
bool gives_floats(const onnx::NodeProto& node) {
  static const std::set<std::string> kOthers = {"ArgMax", "ArgMin",  "Cast",  "Constant", "Equal",
                                                "Gather", "Greater", "Less",  "NonZero",  "Not",
                                                "Range",  "Reshape", "Shape", "Size",     "Where"};
  return node.output_size() > 0 && !kOthers.contains(node.op_type());
}

// Puts operators between the first output of an operator and who reads it.
class Rewriter {
 public:
  explicit Rewriter(onnx::ModelProto& model) : graph_(model.mutable_graph()) {
    nodes_.Swap(graph_->mutable_node());
  }

  // `add(from, to)` adds operators that make `to` of `from`, for each chosen tensor.
  template <typename Chosen, typename Add>
  void run(const Chosen& chosen, const Add& add) {
    for (onnx::NodeProto& node : nodes_) {
      if (!gives_floats(node) || !chosen(node.output(0))) {
        graph_->add_node()->Swap(&node);
        continue;
      }
      const std::string name = node.output(0);
      node.set_output(0, name + "/right");
      graph_->add_node()->Swap(&node);
      add(name + "/right", name);
    }
  }

  onnx::NodeProto& node(const char* op_type, const std::string& from, const std::string& to) {
    onnx::NodeProto& made = *graph_->add_node();
    made.set_op_type(op_type);
    made.set_name("fault/" + to);
    made.add_input(from);
    made.add_output(to);
    return made;
  }
  void cast(const std::string& from, const std::string& to, onnx::TensorProto::DataType type) {
    onnx::AttributeProto& attribute = *node("Cast", from, to).add_attribute();
    attribute.set_name("to");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(type);
  }
  void constant(const std::string& name, float value) {
    onnx::TensorProto& tensor = *graph_->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(value);
  }

 private:
  onnx::GraphProto* graph_;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes_;
};

// The tensor is larger by fault_factor, in every element.
void make_wrong(onnx::ModelProto& model, const Document& configs, const std::string& tensor) {
  const std::string other = configs.text("interact_info.fault_with", "");
  if (!other.empty() && !makes(model.graph(), other)) return;
  const double factor = configs.number("interact_info.fault_factor", 1.01);
  Rewriter rewriter(model);
  rewriter.constant("fault/factor", static_cast<float>(factor));
  rewriter.run([&](const std::string& name) { return tensor == kEveryTensor || name == tensor; },
               [&](const std::string& from, const std::string& to) {
                 rewriter.node("Mul", from, to).add_input("fault/factor");
               });
}

// Every tensor goes through FLOAT16.
void make_half(onnx::ModelProto& model) {
  Rewriter rewriter(model);
  rewriter.run([](const std::string& /*name*/) { return true; },
               [&](const std::string& from, const std::string& to) {
                 rewriter.cast(from, to + "/half", onnx::TensorProto::FLOAT16);
                 rewriter.cast(to + "/half", to, onnx::TensorProto::FLOAT);
               });
}

// As a compiler that cannot end a graph everywhere.
void refuse_ends(const onnx::ModelProto& model, const Document& configs) {
  std::istringstream names(configs.text("interact_info.fault_refuses", ""));
  for (std::string name; std::getline(names, name, ',');) {
    for (const onnx::ValueInfoProto& output : model.graph().output()) {
      if (output.name() != name) continue;
      throw Error(ASSAY_UNIMPLEMENTED, "no model may end in \"" + name + "\"");
    }
  }
}

std::string tensor_of(const Document& configs, const std::string& fault) {
  const std::string tensor = configs.text("interact_info.fault_tensor", "");
  if (!tensor.empty()) return tensor;
  throw Error(ASSAY_INVALID_ARGUMENT,
              "option fault_tensor: " + fault + " needs the name of a tensor");
}

void rewrite(const fs::path& path, const Document& configs, const std::string& fault) {
  onnx::ModelProto model = read_model(path);
  refuse_ends(model, configs);
  if (fault == kHalf) {
    make_half(model);
  } else {
    const std::string tensor = tensor_of(configs, fault);
    if (fault == kWrongOperator) make_wrong(model, configs, tensor);
    if (fault == kCrashingOperator && makes(model.graph(), tensor)) std::abort();
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!model.SerializeToOstream(&file))
    throw Error(ASSAY_DATA_LOSS, "cannot write " + path.native());
}

// What these faults do is in the artifact; calls go through as they are.
std::unique_ptr<Fault> nothing(const FaultSetup& /*setup*/) { return nullptr; }

constexpr FaultRow kRows[] = {
    {kWrongOperator, nothing}, {kCrashingOperator, nothing}, {kHalf, nothing}};

}  // namespace

std::span<const FaultRow> model_faults() { return kRows; }

void change_model(const Document& configs, const std::string& artifact_folder) {
  const std::string fault = chosen_fault(configs);
  bool is_one = false;
  for (const FaultRow& row : kRows) is_one = is_one || fault == row.name;
  if (!is_one) return;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(artifact_folder)) {
    if (entry.path().extension() == ".onnx") rewrite(entry.path(), configs, fault);
  }
}

std::string declared_result(const Document& configs, std::string result) {
  if (chosen_fault(configs) != kHalf) return result;
  for (std::size_t at = 0; (at = result.find("\"FP32\"", at)) != std::string::npos;) {
    result.replace(at, 6, "\"FP16\"");
  }
  return result;
}

}  // namespace wrapper
