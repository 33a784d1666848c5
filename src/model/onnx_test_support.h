#pragma once

// Small ONNX models for tests, made operator by operator.

#include <gtest/gtest.h>
#include <onnx/onnx-ml.pb.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"

namespace assay::testing {

using OnnxType = onnx::TensorProto;

// A folder of its own for each test, removed when the test ends.
class TestFolder {
 public:
  TestFolder()
      : path_(std::filesystem::path(::testing::TempDir()) /
              (std::string("onnx-") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
               std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline onnx::ModelProto read_onnx(const std::filesystem::path& path) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(*read_file(path))) << path;
  return proto;
}

inline std::filesystem::path write_onnx(const onnx::ModelProto& proto,
                                        const std::filesystem::path& path) {
  EXPECT_TRUE(write_file_atomic(path, proto.SerializeAsString()).ok()) << path;
  return path;
}

// -1 in a shape is a free dimension.
inline void set_tensor(onnx::ValueInfoProto& value, const std::string& name, int type,
                       const std::vector<std::int64_t>& shape) {
  value.set_name(name);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  auto& dims = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const std::int64_t dim : shape) {
    if (auto& made = *dims.add_dim(); dim >= 0) made.set_dim_value(dim);
  }
}

// Adds to a graph, main or inner, that somebody else owns.
class GraphBuilder {
 public:
  explicit GraphBuilder(onnx::GraphProto* graph) : graph_(graph) {}

  GraphBuilder& input(const std::string& name, int type = OnnxType::FLOAT,
                      const std::vector<std::int64_t>& shape = {-1, 4}) {
    set_tensor(*graph_->add_input(), name, type, shape);
    return *this;
  }
  GraphBuilder& output(const std::string& name, int type = OnnxType::FLOAT,
                       const std::vector<std::int64_t>& shape = {-1, 4}) {
    set_tensor(*graph_->add_output(), name, type, shape);
    return *this;
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    onnx::NodeProto& node = *graph_->add_node();
    node.set_op_type(op);
    node.set_name(op + "/" + outputs.back());
    for (const std::string& name : inputs) node.add_input(name);
    for (const std::string& name : outputs) node.add_output(name);
    return node;
  }
  GraphBuilder& weight(const std::string& name, const std::vector<std::int64_t>& dims,
                       const std::vector<float>& values) {
    onnx::TensorProto& tensor = *graph_->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(OnnxType::FLOAT);
    for (const std::int64_t dim : dims) tensor.add_dims(dim);
    for (const float value : values) tensor.add_float_data(value);
    return *this;
  }
  GraphBuilder& integers(const std::string& name, const std::vector<std::int64_t>& values) {
    onnx::TensorProto& tensor = *graph_->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(OnnxType::INT64);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor.add_int64_data(value);
    return *this;
  }

 private:
  onnx::GraphProto* graph_;
};

inline onnx::ModelProto empty_model(std::int64_t opset = 17) {
  onnx::ModelProto proto;
  proto.set_ir_version(8);
  proto.set_producer_name("assay-tests");
  proto.add_opset_import()->set_version(opset);
  proto.mutable_graph()->set_name("test");
  return proto;
}

inline onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  return attribute;
}

inline void set_int(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  onnx::AttributeProto& attribute = add_attribute(node, name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

// The body `name` of If, Loop or Scan, to be filled.
inline GraphBuilder body_of(onnx::NodeProto& node, const std::string& name) {
  onnx::AttributeProto& attribute = add_attribute(node, name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  attribute.mutable_g()->set_name(name);
  return GraphBuilder(attribute.mutable_g());
}

// The operator that makes `name`; null when there is none.
inline const onnx::NodeProto* maker_of(const onnx::GraphProto& graph, const std::string& name) {
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      if (output == name) return &node;
    }
  }
  return nullptr;
}

inline std::vector<std::string> op_types(const onnx::GraphProto& graph) {
  std::vector<std::string> types;
  for (const onnx::NodeProto& node : graph.node()) types.push_back(node.op_type());
  return types;
}

}  // namespace assay::testing
