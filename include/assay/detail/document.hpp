#ifndef ASSAY_DETAIL_DOCUMENT_HPP_
#define ASSAY_DETAIL_DOCUMENT_HPP_

// Inline parts of backend.hpp that deal with text. Include backend.hpp, not this.

#include <cstdio>
#include <cstdlib>

namespace assay {
namespace backend {

inline Document::Document(const assay_document& document)
    : json_(document.json.data, static_cast<std::size_t>(document.json.size)) {
  leaves_.reserve(static_cast<std::size_t>(document.option_count));
  for (std::uint64_t i = 0; i < document.option_count; ++i) {
    const assay_option& option = document.options[i];
    leaves_.push_back({option.name, option.value, option.kind});
  }
}

inline const Document::Leaf* Document::find(std::string_view name) const {
  const auto found = std::find_if(leaves_.begin(), leaves_.end(),
                                  [&](const Leaf& leaf) { return leaf.name == name; });
  return found == leaves_.end() || found->kind == ASSAY_OPTION_NULL ? nullptr : &*found;
}

inline const Document::Leaf& Document::require(std::string_view name) const {
  const Leaf* leaf = find(name);
  if (leaf == nullptr) {
    throw Error(ASSAY_INVALID_ARGUMENT, "\"" + std::string(name) + "\" is missing");
  }
  return *leaf;
}

namespace detail ASSAY_HIDDEN_ {

[[noreturn]] inline void wrong_type(std::string_view name, const std::string& value,
                                    const char* wanted) {
  throw Error(ASSAY_INVALID_ARGUMENT,
              "\"" + std::string(name) + "\" is \"" + value + "\", wanted: " + wanted);
}

}  // namespace detail ASSAY_HIDDEN_

inline std::string Document::text(std::string_view name) const { return require(name).value; }

inline std::string Document::text(std::string_view name, std::string_view fallback) const {
  const Leaf* leaf = find(name);
  return leaf == nullptr ? std::string(fallback) : leaf->value;
}

inline std::int64_t Document::integer(std::string_view name) const {
  const Leaf& leaf = require(name);
  if (leaf.kind != ASSAY_OPTION_INT) detail::wrong_type(name, leaf.value, "an integer");
  return std::strtoll(leaf.value.c_str(), nullptr, 10);
}

inline std::int64_t Document::integer(std::string_view name, std::int64_t fallback) const {
  return has(name) ? integer(name) : fallback;
}

inline double Document::number(std::string_view name, double fallback) const {
  const Leaf* leaf = find(name);
  if (leaf == nullptr) return fallback;
  if (leaf->kind != ASSAY_OPTION_INT && leaf->kind != ASSAY_OPTION_FLOAT) {
    detail::wrong_type(name, leaf->value, "a number");
  }
  return std::strtod(leaf->value.c_str(), nullptr);
}

inline bool Document::flag(std::string_view name, bool fallback) const {
  const Leaf* leaf = find(name);
  if (leaf == nullptr) return fallback;
  if (leaf->kind != ASSAY_OPTION_BOOL) detail::wrong_type(name, leaf->value, "true or false");
  return leaf->value == "true";
}

inline std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out += '"';
}

namespace detail ASSAY_HIDDEN_ {

// "[a,b]" of what `write` makes of each item.
template <typename Items, typename Write>
std::string json_list(const Items& items, Write write) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += write(item);
  }
  return out += ']';
}

}  // namespace detail ASSAY_HIDDEN_

inline std::string CompileResult::to_json() const {
  const std::string types = detail::json_list(input_type, json_quoted);
  const std::string compiled = detail::json_list(objects, [](const Object& object) {
    return "{\"compiled_bs\":" + std::to_string(object.batch_size) +
           ",\"compiled_obj\":" + json_quoted(object.file) + "}";
  });
  return "{\"model\":" + json_quoted(model) + ",\"framework\":" + json_quoted(framework) +
         ",\"compile_precision\":" + json_quoted(compile_precision) + ",\"optimizations\":{}" +
         ",\"instance_count\":" + std::to_string(instance_count) +
         ",\"device_count\":" + std::to_string(device_count) + ",\"input_type\":" + types +
         ",\"max_batch_size\":" + std::to_string(max_batch_size) +
         ",\"compile_status\":\"success\",\"sg_percent\":100" +
         ",\"segments\":[{\"sg_idx\":0,\"is_fallback\":false,\"input_tensor_map\":{}" +
         ",\"output_tensor_map\":{},\"compiled_model\":" + compiled + "}]}";
}

}  // namespace backend
}  // namespace assay

#endif  // ASSAY_DETAIL_DOCUMENT_HPP_
