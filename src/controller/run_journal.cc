#include "controller/run_journal.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_parse.h"
#include "controller/typed_object.h"

namespace assay::controller {

Json compiled_journal_json(const Compiled& compiled, const PhaseRecord& record) {
  Json json{{"compile_result", compiled.compile_result},
            {"artifact_hash", compiled.artifact_hash},
            {"wall_ns", compiled.wall_ns},
            {"calibration_samples", compiled.calibration_samples},
            {"peak_rss_bytes", record.peak_rss_bytes.value_or(0)}};
  if (compiled.best_batch_sizes) json["best_batch_sizes"] = *compiled.best_batch_sizes;
  return json;
}

Result<Compiled> compiled_from_journal(const Json& entry, const std::string& hardware_type,
                                       const std::filesystem::path& folder) {
  Compiled compiled;
  const TypedObject members(entry, "the journal's entry of compile");
  ASSIGN_OR_RETURN(compiled.compile_result, members.text("compile_result"));
  ASSIGN_OR_RETURN(compiled.wall_ns, members.integer("wall_ns"));
  ASSIGN_OR_RETURN(compiled.calibration_samples, members.count("calibration_samples"));
  ASSIGN_OR_RETURN(const std::string hash, members.text("artifact_hash"));
  if (members.has("best_batch_sizes")) {
    ASSIGN_OR_RETURN(compiled.best_batch_sizes, members.integers("best_batch_sizes"));
  }
  ASSIGN_OR_RETURN(const Json returned, parse_json(compiled.compile_result));
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
              {"conversions", pass.conversions},
              {"notes", pass.notes},
              {"segments", to_json(pass.segments)}};
}

Result<PassResult> pass_from_journal(const Json& entry) {
  PassResult pass;
  const TypedObject members(entry, "the journal's entry of accuracy");
  ASSIGN_OR_RETURN(pass.loaded_batch_size, members.integer("loaded_batch_size"));
  ASSIGN_OR_RETURN(pass.samples, members.count("samples"));
  ASSIGN_OR_RETURN(pass.padded_samples, members.count("padded_samples"));
  ASSIGN_OR_RETURN(pass.wall_ns, members.integer("wall_ns"));
  ASSIGN_OR_RETURN(pass.backend_ns, members.integer("backend_ns"));
  ASSIGN_OR_RETURN(pass.output_bytes_per_batch, members.count("output_bytes_per_batch"));
  ASSIGN_OR_RETURN(pass.conversions, members.text("conversions"));
  ASSIGN_OR_RETURN(pass.segments, segment_uses(entry));
  ASSIGN_OR_RETURN(pass.notes, members.texts("notes"));
  if (pass.loaded_batch_size < 1) return data_loss("journal entry of accuracy: no batch size");
  return pass;
}

}  // namespace assay::controller
