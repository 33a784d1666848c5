#include "openvino_core.h"

#include <array>
#include <memory>
#include <openvino/core/version.hpp>
#include <openvino/runtime/properties.hpp>
#include <regex>
#include <sstream>
#include <string_view>

namespace openvino {
namespace {

using assay::backend::DType;
using assay::backend::Error;

struct ElementType {
  ov::element::Type_t openvino;
  DType dtype;
  const char* name;
};
constexpr std::array<ElementType, 14> kElementTypes = {{
    {ov::element::Type_t::f64, DType::kFloat64, "FLOAT64"},
    {ov::element::Type_t::f32, DType::kFloat32, "FLOAT32"},
    {ov::element::Type_t::f16, DType::kFloat16, "FLOAT16"},
    {ov::element::Type_t::bf16, DType::kBFloat16, "BFLOAT16"},
    {ov::element::Type_t::f8e4m3, DType::kFloat8E4M3, "FP8"},
    {ov::element::Type_t::i64, DType::kInt64, "INT64"},
    {ov::element::Type_t::i32, DType::kInt32, "INT32"},
    {ov::element::Type_t::i16, DType::kInt16, "INT16"},
    {ov::element::Type_t::i8, DType::kInt8, "INT8"},
    {ov::element::Type_t::u8, DType::kUInt8, "UINT8"},
    {ov::element::Type_t::boolean, DType::kBool, "BOOL"},
    {ov::element::Type_t::u16, DType::kUInt16, "UINT16"},
    {ov::element::Type_t::u32, DType::kUInt32, "UINT32"},
    {ov::element::Type_t::u64, DType::kUInt64, "UINT64"},
}};

}  // namespace

ov::Core& core() {
  try {
    static ov::Core& shared = *std::make_unique<ov::Core>().release();
    return shared;
  } catch (const ov::Exception& e) {
    throw as_error(ASSAY_UNAVAILABLE, "starting", e);
  }
}

std::string runtime_build() { return ov::get_openvino_version().buildNumber; }

std::string device_name() { return core().get_property(kDevice, ov::device::full_name); }

DType dtype_of(const ov::element::Type& type, const std::string& tensor) {
  for (const ElementType& row : kElementTypes) {
    if (type == row.openvino) return row.dtype;
  }
  throw Error(ASSAY_UNIMPLEMENTED, "\"" + tensor + "\" holds " + type.get_type_name() +
                                       ", which cannot cross the boundary");
}

const char* name_of(DType dtype) {
  for (const ElementType& row : kElementTypes) {
    if (row.dtype == dtype) return row.name;
  }
  return "UNDEFINED";
}

std::string reason_of(const std::exception& e) {
  static const std::regex kPlace(
      "^(Exception from [^\\s]*:\\d+:|Check '.*' failed at [^\\s]*:\\d+:|"
      "FrontEnd API failed with \\w+:)\\s*");
  std::istringstream lines(e.what());
  std::string reason;
  for (std::string line; std::getline(lines, line);) {
    line = std::regex_replace(line, kPlace, "");
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos) continue;
    const std::size_t last = line.find_last_not_of(" \t\r");
    reason.append(reason.empty() ? "" : " ").append(line, first, last - first + 1);
  }
  return reason.empty() ? "no reason given" : reason;
}

Error as_error(std::int32_t code, const std::string& doing, const std::exception& e) {
  return {code, "OpenVINO, " + doing + ": " + reason_of(e)};
}

std::vector<std::int64_t> dims_of(const ov::PartialShape& shape) {
  std::vector<std::int64_t> dims;
  if (shape.rank().is_dynamic()) return dims;
  for (const ov::Dimension& dim : shape) dims.push_back(dim.is_static() ? dim.get_length() : -1);
  return dims;
}

}  // namespace openvino
