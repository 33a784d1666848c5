#include "controller/run_journal.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace assay::controller {

Json compiled_journal_json(const Compiled& compiled, const PhaseRecord& record) {
  Json json{{"compile_result", compiled.compile_result},
            {"artifact_hash", compiled.artifact_hash},
            {"wall_ns", compiled.wall_ns},
            {"peak_rss_bytes", record.peak_rss_bytes.value_or(0)}};
  if (compiled.best_batch_sizes) json["best_batch_sizes"] = *compiled.best_batch_sizes;
  return json;
}

Result<Compiled> compiled_from_journal(const Json& entry, const std::string& hardware_type,
                                       const std::filesystem::path& folder) {
  Compiled compiled;
  std::string hash;
  try {
    compiled.compile_result = entry.at("compile_result").get<std::string>();
    compiled.wall_ns = entry.at("wall_ns").get<std::int64_t>();
    hash = entry.at("artifact_hash").get<std::string>();
    if (entry.contains("best_batch_sizes")) {
      compiled.best_batch_sizes = entry["best_batch_sizes"].get<std::vector<std::int64_t>>();
    }
  } catch (const Json::exception& error) {
    return data_loss(fmt::format("journal entry of compile: {}", error.what()));
  }
  const Json returned = Json::parse(compiled.compile_result, nullptr, /*allow_exceptions=*/false);
  ASSIGN_OR_RETURN(compiled.parsed, workload::compile_result_from_backend(returned, hardware_type));
  compiled.artifact_folder = folder;
  ASSIGN_OR_RETURN(compiled.files, list_artifact(folder));
  compiled.artifact_hash = hash_of(compiled.files);
  if (compiled.artifact_hash != hash) {
    return data_loss(fmt::format("the artifact's hash is {}, the journal says {}",
                                 compiled.artifact_hash, hash));
  }
  return compiled;
}

Json pass_journal_json(const PassResult& pass) {
  return Json{{"loaded_batch_size", pass.loaded_batch_size},
              {"samples", pass.samples},
              {"padded_samples", pass.padded_samples},
              {"wall_ns", pass.wall_ns},
              {"backend_ns", pass.backend_ns},
              {"output_bytes_per_batch", pass.output_bytes_per_batch},
              {"conversions", pass.conversions}};
}

Result<PassResult> pass_from_journal(const Json& entry) {
  PassResult pass;
  try {
    pass.loaded_batch_size = entry.at("loaded_batch_size").get<std::int64_t>();
    pass.samples = entry.at("samples").get<std::uint64_t>();
    pass.padded_samples = entry.at("padded_samples").get<std::uint64_t>();
    pass.wall_ns = entry.at("wall_ns").get<std::int64_t>();
    pass.backend_ns = entry.at("backend_ns").get<std::int64_t>();
    pass.output_bytes_per_batch = entry.at("output_bytes_per_batch").get<std::uint64_t>();
    pass.conversions = entry.at("conversions").get<std::string>();
  } catch (const Json::exception& error) {
    return data_loss(fmt::format("journal entry of accuracy: {}", error.what()));
  }
  if (pass.loaded_batch_size < 1) return data_loss("journal entry of accuracy: no batch size");
  return pass;
}

}  // namespace assay::controller
