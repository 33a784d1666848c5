#include "controller/bisect_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "base/file.h"
#include "check/npy.h"
#include "check/output_store.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

// NumPy has no FP8: such a tensor is in the store alone.
Status write_npy(const fs::path& path, const Tensor& tensor) {
  const Shape& shape = tensor.spec().shape;
  if (shape.empty() || shape[0] == 0) {  // rows of a scalar and of nothing: one, and none
    ASSIGN_OR_RETURN(check::NpyWriter writer,
                     check::NpyWriter::open(path, tensor.spec().dtype, {}));
    if (shape.empty()) RETURN_IF_ERROR(writer.append(tensor.bytes()));
    return writer.finish();
  }
  const auto rows = static_cast<std::size_t>(shape[0]);
  ASSIGN_OR_RETURN(
      check::NpyWriter writer,
      check::NpyWriter::open(path, tensor.spec().dtype, Shape(shape.begin() + 1, shape.end())));
  const std::size_t bytes = tensor.bytes().size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    RETURN_IF_ERROR(writer.append(tensor.bytes().subspan(row * bytes, bytes)));
  }
  return writer.finish();
}

Status write_set(const fs::path& folder, const char* store, const TensorSet& tensors, Json& files) {
  RETURN_IF_ERROR(write_tensors(folder / store, tensors));
  const std::string stem = fs::path(store).stem().native();
  Json arrays = Json::array();
  for (const auto& [name, tensor] : tensors) {
    const std::string file = fmt::format("{}_{}.npy", stem, arrays.size());
    const Status written = write_npy(folder / file, tensor);
    if (!written.ok() && written.code() != StatusCode::kUnimplemented) return written;
    arrays.push_back({{"tensor", name},
                      {"spec", to_string(tensor.spec())},
                      {"npy", written.ok() ? Json(file) : Json()}});
  }
  files[stem] = {{"store", store}, {"tensors", std::move(arrays)}};
  return ok_status();
}

}  // namespace

Status write_tensors(const fs::path& path, const TensorSet& tensors) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back(tensor.spec());
  ASSIGN_OR_RETURN(check::OutputWriter writer, check::OutputWriter::open(path, {}, specs, 1));
  std::size_t index = 0;
  for (const auto& [name, tensor] : tensors) {
    RETURN_IF_ERROR(writer.write(0, index++, tensor.bytes()));
  }
  return writer.finish();
}

Result<TensorSet> read_tensors(const fs::path& path) {
  ASSIGN_OR_RETURN(check::OutputReader reader, check::OutputReader::open(path));
  TensorSet tensors;
  for (std::size_t k = 0; k < reader.outputs().size(); ++k) {
    ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, reader.output(0, k));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::make(reader.outputs()[k]));
    std::ranges::copy(bytes, tensor.bytes().begin());
    tensors.emplace(reader.outputs()[k].name, std::move(tensor));
  }
  return tensors;
}

Result<JsonValue> write_minimal(const CutSeen& finding, const fs::path& folder) {
  std::error_code error;
  fs::copy_file(finding.model, folder / kMinimalModel, fs::copy_options::overwrite_existing, error);
  if (error) return errno_status(error.value(), "cannot write " + quoted(folder / kMinimalModel));
  Json files = {{"model", kMinimalModel}, {"got", nullptr}};
  RETURN_IF_ERROR(write_set(folder, kMinimalInput, finding.inputs, files));
  RETURN_IF_ERROR(write_set(folder, kMinimalExpected, finding.reference, files));
  if (!finding.got.empty()) {
    RETURN_IF_ERROR(write_set(folder, kMinimalGot, finding.got, files));
  }
  return JsonValue(files);
}

Status check_free_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return ok_status();
  if (fs::is_directory(folder, error) && fs::is_empty(folder, error)) return ok_status();
  return already_exists(
      fmt::format("--output: {} is not empty; accepted: a folder that does not exist or is empty",
                  quoted(folder)));
}

Status put_folder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (fs::exists(to / kBisectRecord, error)) fs::remove_all(to, error);
  fs::rename(from, to, error);
  return error ? errno_status(error.value(), "cannot make " + quoted(to)) : ok_status();
}

Json to_json(const CutSeen& seen) {
  const TensorDifference* worst = seen.worst();
  return {{"first", seen.first},
          {"last", seen.last},
          {"outcome", name_of(seen.outcome)},
          {"why", seen.why},
          {"tensors", seen.tensors.size()},
          {"worst", worst == nullptr ? Json() : to_json(*worst)},
          {"variants", seen.variants},
          {"variants_failed", seen.variants_failed}};
}

}  // namespace assay::controller
