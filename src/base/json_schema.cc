#include "base/json_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/suggest.h"

namespace assay {
namespace {

constexpr std::size_t kMaxTextShown = 40;

bool has_type(const Json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_number_integer();
  return type == "number" && value.is_number();
}

std::vector<std::string> types_of(const Json& schema) {
  const auto type = schema.find("type");
  if (type == schema.end()) return {};
  if (type->is_string()) return {type->get<std::string>()};
  return type->get<std::vector<std::string>>();
}

bool type_fits(const Json& schema, const Json& value) {
  const std::vector<std::string> types = types_of(schema);
  return types.empty() || std::any_of(types.begin(), types.end(),
                                      [&](const auto& type) { return has_type(value, type); });
}

std::string found(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return value.empty() ? "an empty list" : "a list";
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (text.size() > kMaxTextShown) text = text.substr(0, kMaxTextShown) + "...";
  return fmt::format("text \"{}\"", text);
}

// "a, b or c"
std::string either(const std::vector<std::string>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

std::string range_of(const Json& schema) {
  const auto bound = [&](const char* key) {
    const auto found_bound = schema.find(key);
    return found_bound == schema.end() ? std::string() : found_bound->dump();
  };
  const std::string low = bound("minimum");
  const std::string high = bound("maximum");
  if (!low.empty() && !high.empty()) return fmt::format(" from {} to {}", low, high);
  std::string text;
  if (!low.empty()) text += fmt::format(" of at least {}", low);
  if (const std::string above = bound("exclusiveMinimum"); !above.empty()) {
    text += fmt::format(" above {}", above);
  }
  if (!high.empty()) text += fmt::format("{} at most {}", text.empty() ? "" : " and", high);
  if (const std::string below = bound("exclusiveMaximum"); !below.empty()) {
    text += fmt::format("{} below {}", text.empty() ? "" : " and", below);
  }
  return text;
}

// Reads one schema document; `root_` resolves its references.
class Explainer {
 public:
  Explainer(const Json& root, const JsonFile& file) : root_(root), file_(file) {}

  // What is wrong with the value at `pointer` itself, not with what it contains. The validator has
  // found something there, or further down.
  std::vector<Problem> explain(const std::string& pointer) const {
    const Json::json_pointer path(pointer);
    if (!file_.value().contains(path)) return {};
    const Json* schema = schema_at(path);
    if (schema == nullptr) return {};
    const Json& value = file_.value().at(path);
    if (std::string message = explain_value(*schema, value); !message.empty()) {
      return {file_.problem(pointer, std::move(message))};
    }
    if (value.is_object()) return explain_members(*schema, value, pointer);
    if (value.is_array()) return {};
    return {file_.problem(pointer, not_accepted(*schema, value))};
  }

 private:
  // Follows references, then the branch of an anyOf that the value's type points to.
  const Json& resolve(const Json& schema, const Json& value) const {
    const Json& target = dereference(schema);
    const auto branches = target.find("anyOf");
    if (branches == target.end()) return target;
    for (const Json& branch : *branches) {
      if (type_fits(dereference(branch), value)) return resolve(branch, value);
    }
    return target;
  }

  const Json& dereference(const Json& schema) const {
    const auto reference = schema.find("$ref");
    if (reference == schema.end()) return schema;
    return dereference(root_.at(Json::json_pointer(reference->get<std::string>().substr(1))));
  }

  const Json* schema_at(Json::json_pointer path) const {
    if (path.empty()) return &resolve(root_, file_.value());
    const std::string token = path.back();
    const Json::json_pointer parent_path = path.parent_pointer();
    const Json* parent = schema_at(parent_path);
    if (parent == nullptr) return nullptr;
    const Json* child = child_schema(*parent, file_.value().at(parent_path), token);
    return child == nullptr ? nullptr : &resolve(*child, file_.value().at(path));
  }

  static const Json* child_schema(const Json& schema, const Json& value, const std::string& token) {
    if (value.is_array()) {
      const auto items = schema.find("items");
      return items == schema.end() ? nullptr : &*items;
    }
    if (const auto properties = schema.find("properties"); properties != schema.end()) {
      if (const auto member = properties->find(token); member != properties->end()) return &*member;
    }
    const auto others = schema.find("additionalProperties");
    return others != schema.end() && others->is_object() ? &*others : nullptr;
  }

  std::string explain_value(const Json& schema, const Json& value) const {
    const bool no_branch = schema.contains("anyOf");
    if (no_branch || !type_fits(schema, value) || !in_range(schema, value) ||
        !size_fits(schema, value)) {
      return not_accepted(schema, value);
    }
    if (const auto choices = schema.find("enum"); choices != schema.end()) {
      if (std::find(choices->begin(), choices->end(), value) == choices->end()) {
        return not_accepted(schema, value) + suggestion(*choices, value);
      }
    }
    return repeated_item(schema, value);
  }

  std::string not_accepted(const Json& schema, const Json& value) const {
    return fmt::format("found {}, accepted: {}", found(value), accepted(schema));
  }

  static std::string suggestion(const Json& choices, const Json& value) {
    if (!value.is_string()) return "";
    std::vector<std::string> words;
    for (const Json& choice : choices) {
      if (choice.is_string()) words.push_back(choice.get<std::string>());
    }
    return did_you_mean(value.get<std::string>(), words);
  }

  static bool in_range(const Json& schema, const Json& value) {
    if (!value.is_number()) return true;
    const auto holds = [&](const char* key, auto compare) {
      const auto bound = schema.find(key);
      return bound == schema.end() || compare(value.get<double>(), bound->get<double>());
    };
    return holds("minimum", std::greater_equal<>()) && holds("maximum", std::less_equal<>()) &&
           holds("exclusiveMinimum", std::greater<>()) && holds("exclusiveMaximum", std::less<>());
  }

  static bool size_fits(const Json& schema, const Json& value) {
    const auto holds = [&](const char* key, std::size_t size, auto compare) {
      const auto bound = schema.find(key);
      return bound == schema.end() || compare(size, bound->get<std::size_t>());
    };
    if (value.is_array()) {
      return holds("minItems", value.size(), std::greater_equal<>()) &&
             holds("maxItems", value.size(), std::less_equal<>());
    }
    if (value.is_string()) {
      const std::size_t bytes = value.get_ref<const std::string&>().size();
      return holds("minLength", bytes, std::greater_equal<>());
    }
    return !value.is_object() || holds("minProperties", value.size(), std::greater_equal<>());
  }

  static std::string repeated_item(const Json& schema, const Json& value) {
    if (!value.is_array() || !schema.value("uniqueItems", false)) return "";
    for (auto item = value.begin(); item != value.end(); ++item) {
      if (std::find(value.begin(), item, *item) != item) {
        return fmt::format("found {} twice, accepted: each item once", item->dump());
      }
    }
    return "";
  }

  std::vector<Problem> explain_members(const Json& schema, const Json& value,
                                       const std::string& pointer) const {
    std::vector<Problem> problems;
    const Json properties = schema.value("properties", Json::object());
    for (const Json& name : schema.value("required", Json::array())) {
      const std::string key = name.get<std::string>();
      if (value.contains(key)) continue;
      const std::string wanted =
          properties.contains(key) ? accepted(properties.at(key)) : "any value";
      problems.push_back(
          file_.problem(pointer + "/" + pointer_token(key), "missing, accepted: " + wanted));
    }
    const auto others = schema.find("additionalProperties");
    if (others == schema.end() || *others != Json(false)) return problems;
    std::vector<std::string> known;
    for (const auto& member : properties.items()) known.push_back(member.key());
    for (const auto& member : value.items()) {
      if (properties.contains(member.key())) continue;
      problems.push_back(file_.key_problem(pointer + "/" + pointer_token(member.key()),
                                           unknown_key(member.key(), known)));
    }
    return problems;
  }

  static std::string unknown_key(const std::string& key, const std::vector<std::string>& known) {
    const std::string hint = did_you_mean(key, known);
    if (!hint.empty()) return "unknown key" + hint;
    return fmt::format("unknown key, accepted: {}", fmt::join(known, ", "));
  }

  // Words for everything that `schema` accepts.
  std::string accepted(const Json& unresolved) const {
    const Json& schema = dereference(unresolved);
    if (const auto words = schema.find("x-accepted"); words != schema.end()) {
      return words->get<std::string>();
    }
    std::vector<std::string> choices;
    if (const auto values = schema.find("enum"); values != schema.end()) {
      for (const Json& choice : *values) choices.push_back(choice.dump());
    } else if (const auto branches = schema.find("anyOf"); branches != schema.end()) {
      for (const Json& branch : *branches) choices.push_back(accepted(branch));
    } else {
      for (const std::string& type : types_of(schema)) choices.push_back(of_type(schema, type));
    }
    return choices.empty() ? "any value" : either(choices);
  }

  std::string of_type(const Json& schema, const std::string& type) const {
    if (type == "boolean") return "true or false";
    if (type == "integer") return "a whole number" + range_of(schema);
    if (type == "number") return "a number" + range_of(schema);
    if (type == "object") return "an object";
    if (type == "null") return "null";
    const bool some = schema.value("minLength", 0) > 0 || schema.value("minItems", 0) > 0;
    if (type == "string") return some ? "text that is not empty" : "text";
    const std::string what = some ? "a list that is not empty" : "a list";
    if (!schema.contains("items")) return what;
    return fmt::format("{}, each item {}", what, accepted(schema.at("items")));
  }

  const Json& root_;
  const JsonFile& file_;
};

// valijson names a place as {"<root>", "[inputs]", "[0]"}.
std::string pointer_of(const std::vector<std::string>& context) {
  std::string pointer;
  for (const std::string& step : context) {
    if (step.size() < 2 || step.front() != '[') continue;
    pointer += "/" + pointer_token(std::string_view(step).substr(1, step.size() - 2));
  }
  return pointer;
}

std::size_t depth(const std::string& pointer) {
  return static_cast<std::size_t>(std::count(pointer.begin(), pointer.end(), '/'));
}

}  // namespace

struct JsonSchema::Compiled {
  Json document;
  valijson::Schema schema;
};

JsonSchema::JsonSchema(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
JsonSchema::JsonSchema(JsonSchema&&) noexcept = default;
JsonSchema& JsonSchema::operator=(JsonSchema&&) noexcept = default;
JsonSchema::~JsonSchema() = default;

Result<JsonSchema> JsonSchema::compile(std::string_view text) {
  try {
    auto compiled = std::make_unique<Compiled>();
    compiled->document = Json::parse(text);
    const nlohmann::json plain = nlohmann::json::parse(text);
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(plain), compiled->schema);
    return JsonSchema(std::move(compiled));
  } catch (const std::exception& error) {
    return internal_error(fmt::format("schema: {}", error.what()));
  }
}

std::vector<Problem> JsonSchema::check(const JsonFile& file) const {
  try {
    const nlohmann::json plain = nlohmann::json::parse(file.value().dump());
    valijson::Validator validator;
    valijson::ValidationResults results;
    if (validator.validate(compiled_->schema, valijson::adapters::NlohmannJsonAdapter(plain),
                           &results)) {
      return {};
    }
    const Explainer explainer(compiled_->document, file);
    std::vector<Problem> problems;
    std::set<std::string> seen;
    Problem deepest;  // for a violation that has no words of ours
    std::size_t deepest_level = 0;
    valijson::ValidationResults::Error error;
    while (results.popError(error)) {
      const std::string pointer = pointer_of(error.context);
      if (deepest.message.empty() || depth(pointer) > deepest_level) {
        deepest = file.problem(pointer, error.description);
        deepest_level = depth(pointer);
      }
      if (!seen.insert(pointer).second) continue;
      for (Problem& problem : explainer.explain(pointer)) problems.push_back(std::move(problem));
    }
    if (problems.empty()) problems.push_back(std::move(deepest));
    return problems;
  } catch (const std::exception& error) {
    return {file.problem("", fmt::format("cannot be held against its schema: {}", error.what()))};
  }
}

}  // namespace assay
