#include "onnxruntime/onnx_copy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "assay/backend.hpp"

namespace cpu {
namespace {

namespace fs = std::filesystem;
using assay::backend::Error;

// The messages of an ONNX file (onnx-ml.proto) between the model and a tensor's external data.
// Walking the wire format keeps this library free of protobuf's global registry, which must not
// meet a second copy of ONNX's classes in one process.
enum class Message { kModel, kFunction, kGraph, kNode, kAttribute, kSparseTensor, kTensor, kEntry };
struct Field {
  Message in;
  std::uint32_t number;
  Message holds;
};
constexpr std::array<Field, 16> kFields = {{
    {Message::kModel, 7, Message::kGraph},
    {Message::kModel, 25, Message::kFunction},
    {Message::kFunction, 7, Message::kNode},
    {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 5, Message::kTensor},
    {Message::kGraph, 15, Message::kSparseTensor},
    {Message::kNode, 5, Message::kAttribute},
    {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},
    {Message::kAttribute, 10, Message::kTensor},
    {Message::kAttribute, 11, Message::kGraph},
    {Message::kAttribute, 22, Message::kSparseTensor},
    {Message::kAttribute, 23, Message::kSparseTensor},
    {Message::kSparseTensor, 1, Message::kTensor},
    {Message::kSparseTensor, 2, Message::kTensor},
    {Message::kTensor, 13, Message::kEntry},
}};
constexpr std::uint32_t kEntryKey = 1;
constexpr std::uint32_t kEntryValue = 2;
constexpr int kDeepest = 100;  // protobuf's own limit

// Reads one message field by field (protobuf encoding: tag, then by wire type).
class Wire {
 public:
  explicit Wire(std::string_view bytes) : rest_(bytes) {}

  struct Item {
    std::uint32_t number;
    std::string_view bytes;  // of a length-delimited field, else empty
  };
  // None at the end, and at the first byte that makes no sense.
  std::optional<Item> next() {
    const auto tag = varint();
    if (!tag) return std::nullopt;
    const auto number = static_cast<std::uint32_t>(*tag >> 3);
    switch (*tag & 7) {
      case 0:
        return varint() ? std::optional(Item{number, {}}) : std::nullopt;
      case 1:
        return take(8) ? std::optional(Item{number, {}}) : std::nullopt;
      case 5:
        return take(4) ? std::optional(Item{number, {}}) : std::nullopt;
      case 2: {
        const auto size = varint();
        const auto bytes = size ? take(*size) : std::nullopt;
        return bytes ? std::optional(Item{number, *bytes}) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    return std::nullopt;
  }
  std::optional<std::string_view> take(std::uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view rest_;
};

void collect(Message message, std::string_view bytes, int depth, std::set<std::string>& locations) {
  if (depth > kDeepest) return;
  Wire wire(bytes);
  std::string_view key;
  std::string_view value;
  while (const auto item = wire.next()) {
    if (message == Message::kEntry && item->number == kEntryKey) key = item->bytes;
    if (message == Message::kEntry && item->number == kEntryValue) value = item->bytes;
    for (const Field& field : kFields) {
      if (field.in == message && field.number == item->number) {
        collect(field.holds, item->bytes, depth + 1, locations);
      }
    }
  }
  if (message == Message::kEntry && key == "location") locations.emplace(value);
}

std::string read_all(const fs::path& path) {
  std::error_code error;
  std::string bytes(fs::file_size(path, error), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!error && file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return bytes;
  throw Error(ASSAY_NOT_FOUND, "cannot read the model " + path.native());
}

void copy_one(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (!error) fs::copy_file(from, to, error);
  if (!error) return;
  const bool missing = error == std::errc::no_such_file_or_directory;
  const bool full = error == std::errc::no_space_on_device;
  throw Error(missing ? ASSAY_NOT_FOUND
              : full  ? ASSAY_RESOURCE_EXHAUSTED
                      : ASSAY_UNKNOWN,
              "cannot copy " + from.native() + " to " + to.native() + ": " + error.message());
}

// `location` inside the model's folder, links followed.
void check_inside(const fs::path& folder, const std::string& location) {
  std::error_code ignored;
  const fs::path root = fs::weakly_canonical(folder, ignored);
  const fs::path path = fs::weakly_canonical(folder / location, ignored);
  const bool inside =
      std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
  const fs::path relative = fs::path(location).lexically_normal();
  if (inside && !relative.is_absolute() && *relative.begin() != "..") return;
  throw Error(ASSAY_INVALID_ARGUMENT,
              "external data at \"" + location + "\" is not in the model's own folder");
}

}  // namespace

std::vector<std::string> external_locations(const std::string& model_bytes) {
  std::set<std::string> locations;
  collect(Message::kModel, model_bytes, 0, locations);
  return {locations.begin(), locations.end()};
}

std::string copy_onnx(const fs::path& model, const fs::path& folder) {
  const fs::path from = model.has_parent_path() ? model.parent_path() : fs::path(".");
  copy_one(model, folder / model.filename());
  for (const std::string& location : external_locations(read_all(model))) {
    check_inside(from, location);
    copy_one(from / location, folder / fs::path(location).lexically_normal());
  }
  return model.filename();
}

}  // namespace cpu
