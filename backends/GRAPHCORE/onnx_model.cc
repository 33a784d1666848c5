#include "onnx_model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>

#include "assay/backend.hpp"
#include "round.h"

namespace graphcore {
namespace {

using assay::backend::Error;
using onnx::TensorProto;

struct Type {
  int type;
  const char* name;
  std::int64_t bytes;
};
constexpr std::array<Type, 14> kTypes = {{
    {TensorProto::FLOAT, "FLOAT32", 4},
    {TensorProto::FLOAT16, "FLOAT16", 2},
    {TensorProto::BFLOAT16, "BFLOAT16", 2},
    {TensorProto::DOUBLE, "FLOAT64", 8},
    {TensorProto::INT64, "INT64", 8},
    {TensorProto::INT32, "INT32", 4},
    {TensorProto::INT16, "INT16", 2},
    {TensorProto::INT8, "INT8", 1},
    {TensorProto::UINT8, "UINT8", 1},
    {TensorProto::BOOL, "BOOL", 1},
    {TensorProto::UINT16, "UINT16", 2},
    {TensorProto::UINT32, "UINT32", 4},
    {TensorProto::UINT64, "UINT64", 8},
    {TensorProto::FLOAT8E4M3FN, "FLOAT8E4M3", 1},
}};

const Type* find_type(int onnx_type) {
  const auto* const found = std::find_if(kTypes.begin(), kTypes.end(),
                                         [&](const Type& row) { return row.type == onnx_type; });
  return found == kTypes.end() ? nullptr : found;
}

float half_value(std::uint16_t bits) {
  float value = 0;
  arith::half_to_float(&bits, &value, 1);
  return value;
}

[[noreturn]] void wrong_length(const TensorProto& tensor, std::size_t found) {
  throw Error(ASSAY_DATA_LOSS, "tensor \"" + tensor.name() + "\": found " + std::to_string(found) +
                                   " elements, its shape has " +
                                   std::to_string(element_count(tensor)));
}

// The elements of raw_data, converted one by one.
template <typename Stored, typename Value, typename Convert>
std::vector<Value> raw_values(const TensorProto& tensor, Convert convert) {
  const std::string& raw = tensor.raw_data();
  const auto count = static_cast<std::size_t>(element_count(tensor));
  if (raw.size() != count * sizeof(Stored)) wrong_length(tensor, raw.size() / sizeof(Stored));
  std::vector<Value> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
  return values;
}

template <typename Value, typename Field, typename Convert>
std::vector<Value> field_values(const TensorProto& tensor, const Field& field, Convert convert) {
  if (field.size() != element_count(tensor)) {
    wrong_length(tensor, static_cast<std::size_t>(field.size()));
  }
  std::vector<Value> values;
  values.reserve(static_cast<std::size_t>(field.size()));
  for (const auto& each : field) values.push_back(convert(each));
  return values;
}

template <typename Stored>
std::vector<std::int64_t> raw_integers(const TensorProto& tensor) {
  return raw_values<Stored, std::int64_t>(tensor,
                                          [](Stored v) { return static_cast<std::int64_t>(v); });
}

}  // namespace

onnx::ModelProto read_onnx(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ASSAY_NOT_FOUND, "cannot read " + path);
  onnx::ModelProto model;
  google::protobuf::io::IstreamInputStream stream(&file);
  google::protobuf::io::CodedInputStream coded(&stream);
  if (!model.ParseFromCodedStream(&coded) || !model.has_graph()) {
    throw Error(ASSAY_DATA_LOSS, path + " is not an ONNX model");
  }
  return model;
}

std::string bytes_of(const onnx::ModelProto& model) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    model.SerializeToCodedStream(&coded);
  }
  return bytes;
}

std::string type_name(int onnx_type) {
  const Type* const type = find_type(onnx_type);
  return type != nullptr ? type->name : "type " + std::to_string(onnx_type);
}

std::int64_t type_bytes(int onnx_type) {
  const Type* const type = find_type(onnx_type);
  return type != nullptr ? type->bytes : 0;
}

bool is_float(int onnx_type) {
  return onnx_type == TensorProto::FLOAT || onnx_type == TensorProto::FLOAT16 ||
         onnx_type == TensorProto::DOUBLE;
}

std::int64_t element_count(const TensorProto& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t dim : tensor.dims()) {
    if (dim < 0 || (dim > 0 && count > (std::int64_t{1} << 40) / dim)) {
      throw Error(ASSAY_DATA_LOSS,
                  "tensor \"" + tensor.name() + "\": dimension " + std::to_string(dim));
    }
    count *= dim;
  }
  return count;
}

std::vector<float> float_values(const TensorProto& tensor) {
  const bool raw = tensor.has_raw_data();
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      return raw ? raw_values<float, float>(tensor, [](float v) { return v; })
                 : field_values<float>(tensor, tensor.float_data(), [](float v) { return v; });
    case TensorProto::DOUBLE: {
      const auto narrow = [](double v) { return static_cast<float>(v); };
      return raw ? raw_values<double, float>(tensor, narrow)
                 : field_values<float>(tensor, tensor.double_data(), narrow);
    }
    case TensorProto::FLOAT16:
      return raw ? raw_values<std::uint16_t, float>(tensor, half_value)
                 : field_values<float>(tensor, tensor.int32_data(), [](std::int32_t v) {
                     return half_value(static_cast<std::uint16_t>(v));
                   });
    default:
      throw Error(ASSAY_UNIMPLEMENTED, "tensor \"" + tensor.name() + "\" holds " +
                                           type_name(tensor.data_type()) + ", not a float type");
  }
}

std::vector<std::int64_t> integer_values(const TensorProto& tensor) {
  if (!tensor.has_raw_data()) {
    const auto same = [](auto v) { return static_cast<std::int64_t>(v); };
    if (tensor.data_type() == TensorProto::INT64) {
      return field_values<std::int64_t>(tensor, tensor.int64_data(), same);
    }
    const bool wide =
        tensor.data_type() == TensorProto::UINT32 || tensor.data_type() == TensorProto::UINT64;
    return wide ? field_values<std::int64_t>(tensor, tensor.uint64_data(), same)
                : field_values<std::int64_t>(tensor, tensor.int32_data(), same);
  }
  switch (tensor.data_type()) {
    case TensorProto::INT64:
    case TensorProto::UINT64:
      return raw_integers<std::int64_t>(tensor);
    case TensorProto::INT32:
      return raw_integers<std::int32_t>(tensor);
    case TensorProto::UINT32:
      return raw_integers<std::uint32_t>(tensor);
    case TensorProto::INT16:
      return raw_integers<std::int16_t>(tensor);
    case TensorProto::UINT16:
      return raw_integers<std::uint16_t>(tensor);
    case TensorProto::INT8:
      return raw_integers<std::int8_t>(tensor);
    case TensorProto::UINT8:
    case TensorProto::BOOL:
      return raw_integers<std::uint8_t>(tensor);
    default:
      throw Error(ASSAY_UNIMPLEMENTED, "tensor \"" + tensor.name() + "\" holds " +
                                           type_name(tensor.data_type()) + ", not integers");
  }
}

TensorProto float_tensor(const TensorProto& like, const std::vector<float>& values) {
  static_assert(std::endian::native == std::endian::little);
  TensorProto tensor;
  tensor.set_name(like.name());
  *tensor.mutable_dims() = like.dims();
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

}  // namespace graphcore
