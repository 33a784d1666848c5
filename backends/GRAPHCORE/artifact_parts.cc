// The content of the artifact's parts.

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "artifact.h"
#include "device_state.h"
#include "round.h"

namespace graphcore {
namespace {

using assay::backend::Error;
using onnx::TensorProto;
using Json = nlohmann::ordered_json;

template <typename Value>
void append(std::string& bytes, Value value) {
  char raw[sizeof(Value)];
  std::memcpy(raw, &value, sizeof(Value));
  bytes.append(raw, sizeof(Value));
}

// Slices say "to the end" by numbers that int32 has not got.
std::int32_t narrowed(std::int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (value > Limits::max()) return Limits::max();
  return value < Limits::min() ? Limits::min() : static_cast<std::int32_t>(value);
}

std::string stored_bytes(const TensorProto& tensor, int device_type) {
  std::string bytes;
  if (device_type == TensorProto::FLOAT16) {
    const std::vector<float> values = float_values(tensor);
    std::vector<std::uint16_t> halves(values.size());
    arith::Counters counters;
    arith::round_to_half(values.data(), halves.data(), halves.size(), arith::Arithmetic(), 0,
                         counters);
    bytes.assign(reinterpret_cast<const char*>(halves.data()), 2 * halves.size());
  } else if (device_type == TensorProto::INT32 && tensor.data_type() == TensorProto::INT64) {
    for (const std::int64_t value : integer_values(tensor)) append(bytes, narrowed(value));
  } else if (device_type == TensorProto::FLOAT) {
    for (const float value : float_values(tensor)) append(bytes, value);
  } else if (tensor.has_raw_data()) {
    bytes = tensor.raw_data();
  } else {
    for (const std::int64_t value : integer_values(tensor)) {
      std::string whole;
      append(whole, value);
      bytes += whole.substr(0, static_cast<std::size_t>(type_bytes(tensor.data_type())));
    }
  }
  return bytes;
}

// The other way: what the executor holds.
void restore(TensorProto& tensor, int stored_type, const std::string& bytes) {
  const auto count = static_cast<std::size_t>(element_count(tensor));
  if (bytes.size() != count * static_cast<std::size_t>(type_bytes(stored_type))) {
    throw Error(ASSAY_DATA_LOSS, "weight \"" + tensor.name() +
                                     "\": " + std::to_string(bytes.size()) + " bytes for " +
                                     std::to_string(count) + " elements");
  }
  std::string held;
  if (stored_type == TensorProto::FLOAT16) {
    std::vector<std::uint16_t> halves(count);
    std::memcpy(halves.data(), bytes.data(), bytes.size());
    held.resize(count * sizeof(float));
    arith::half_to_float(halves.data(), reinterpret_cast<float*>(held.data()), count);
  } else if (stored_type == TensorProto::INT32 && tensor.data_type() == TensorProto::INT64) {
    for (std::size_t i = 0; i < count; ++i) {
      std::int32_t value = 0;
      std::memcpy(&value, bytes.data() + 4 * i, 4);
      append(held, static_cast<std::int64_t>(value));
    }
  } else {
    held = bytes;
  }
  tensor.set_raw_data(std::move(held));
}

Json anchors_json(const std::vector<Anchor>& anchors) {
  Json list = Json::array();
  for (const Anchor& anchor : anchors) {
    list.push_back({{"name", anchor.name},
                    {"handle", anchor.handle},
                    {"direction", anchor.is_input ? "input" : "output"},
                    {"dtype", type_name(anchor.device_type)},
                    {"host_dtype", type_name(anchor.host_type)},
                    {"device_type", anchor.device_type},
                    {"host_type", anchor.host_type},
                    {"shape", anchor.shape},
                    {"batched", anchor.batched},
                    {"adaptation", anchor.adaptation}});
  }
  return list;
}

Json options_json(const Options& options) {
  Json list = Json::array();
  for (const OptionRow& row : option_rows(options)) {
    list.push_back({{"name", row.name},
                    {"requested", row.requested},
                    {"effective", row.effective},
                    {"note", row.note}});
  }
  return list;
}

std::vector<Anchor> parse_anchors(const Json& json) {
  std::vector<Anchor> anchors;
  for (const Json& each : json) {
    Anchor anchor;
    anchor.name = each.at("name").get<std::string>();
    anchor.handle = each.at("handle").get<std::string>();
    anchor.is_input = each.at("direction") == "input";
    anchor.device_type = each.at("device_type").get<int>();
    anchor.host_type = each.at("host_type").get<int>();
    anchor.shape = each.at("shape").get<std::vector<std::int64_t>>();
    anchor.batched = each.at("batched").get<bool>();
    anchor.adaptation = each.at("adaptation").get<std::string>();
    anchors.push_back(std::move(anchor));
  }
  return anchors;
}

Options parse_options(const Json& json) {
  std::map<std::string, std::string> texts;
  std::string popart;
  for (const Json& row : json) {
    const auto name = row.at("name").get<std::string>();
    const auto requested = row.at("requested").get<std::string>();
    if (row.at("effective") == "passed through") {
      popart += (popart.empty() ? "" : ",") + name + "=" + requested;
    }
    texts[name] = requested;
  }
  if (!popart.empty()) texts["popart_options"] = popart;
  return options_from_texts([&](const std::string& name) -> std::optional<std::string> {
    const auto found = texts.find(name);
    return found != texts.end() ? std::optional(found->second) : std::nullopt;
  });
}

void fill_weights(onnx::ModelProto& model, const Json& index, const std::string& weights) {
  auto& tensors = *model.mutable_graph()->mutable_initializer();
  if (index.size() != static_cast<std::size_t>(tensors.size())) {
    throw Error(ASSAY_DATA_LOSS, "the graph has " + std::to_string(tensors.size()) +
                                     " weights, their index " + std::to_string(index.size()));
  }
  for (int i = 0; i < tensors.size(); ++i) {
    const Json& row = index.at(static_cast<std::size_t>(i));
    const auto offset = row.at("offset").get<std::uint64_t>();
    const auto size = row.at("size_bytes").get<std::uint64_t>();
    if (offset > weights.size() || size > weights.size() - offset) {
      throw Error(ASSAY_DATA_LOSS, "weight \"" + tensors[i].name() + "\" ends behind weights.bin");
    }
    restore(tensors[i], row.at("type").get<int>(), weights.substr(offset, size));
  }
}

}  // namespace

std::map<std::string, std::string> parts_of(const Lowered& lowered, const Options& options,
                                            const std::string& toolchain) {
  onnx::ModelProto graph = lowered.model;
  std::string weights;
  Json index = Json::array();
  for (TensorProto& tensor : *graph.mutable_graph()->mutable_initializer()) {
    const int type = lowered.types.at(tensor.name());
    const std::string bytes = stored_bytes(tensor, type);
    index.push_back(
        {{"name", tensor.name()},
         {"dtype", type_name(type)},
         {"type", type},
         {"dims", std::vector<std::int64_t>(tensor.dims().begin(), tensor.dims().end())},
         {"offset", weights.size()},
         {"size_bytes", bytes.size()}});
    weights += bytes;
    TensorProto bare;
    bare.set_name(tensor.name());
    *bare.mutable_dims() = tensor.dims();
    bare.set_data_type(tensor.data_type());
    tensor = std::move(bare);
  }
  Json sites = Json::array();
  for (const RoundingSite& site : lowered.sites) {
    sites.push_back({{"op", site.op}, {"tensor", site.tensor}});
  }
  const Json lowering = {{"notes", lowered.notes},
                         {"saturated_weights", lowered.saturated_weights},
                         {"rounding_sites", std::move(sites)}};
  return {{"graph", bytes_of(graph)},
          {"weights", std::move(weights)},
          {"weight_index", index.dump(1) + "\n"},
          {"anchors", anchors_json(lowered.anchors).dump(1) + "\n"},
          {"options", options_json(options).dump(1) + "\n"},
          {"lowering", lowering.dump(1) + "\n"},
          {"toolchain", toolchain}};
}

Artifact artifact_of(const std::map<std::string, std::string>& parts) {
  try {
    Artifact artifact;
    artifact.options = parse_options(Json::parse(parts.at("options")));
    artifact.anchors = parse_anchors(Json::parse(parts.at("anchors")));
    const Json lowering = Json::parse(parts.at("lowering"));
    for (const Json& site : lowering.at("rounding_sites")) {
      artifact.sites.push_back(
          {site.at("op").get<std::string>(), site.at("tensor").get<std::string>()});
    }
    if (!artifact.model.ParseFromString(parts.at("graph"))) {
      throw Error(ASSAY_DATA_LOSS, "part graph is not an ONNX model");
    }
    fill_weights(artifact.model, Json::parse(parts.at("weight_index")), parts.at("weights"));
    return artifact;
  } catch (const nlohmann::json::exception& e) {
    throw Error(ASSAY_DATA_LOSS,
                std::string("the artifact was not written by this backend: ") + e.what());
  }
}

}  // namespace graphcore
