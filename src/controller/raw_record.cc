#include "controller/raw_record.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "check/npy.h"
#include "check/output_store.h"
#include "loadgen/record.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

std::string relative_path(const std::string& name) { return "raw/" + name; }

void add_window(const loadgen::RecordView& view, Json& entry) {
  const bool opened = view.window_start_ns != 0;
  const bool ended = opened && view.window_end_ns != 0;
  entry["window_ns"] = ended ? Json(view.window_ns()) : Json();
  entry["window_start_ns"] = opened ? Json(view.window_start_ns) : Json();
  entry["window_end_ns"] = ended ? Json(view.window_end_ns) : Json();
  if (!ended) {
    entry["why"] = opened ? "the worker ended inside the window" : "the window never opened";
  }
}

Status keep_client(const std::string& record, std::size_t client, const loadgen::RecordView& view,
                   const fs::path& folder, Json& kept) {
  const auto& recorded = view.clients[client];
  const std::string name = fmt::format("latency-{}-c{}.npy", record, client);
  ASSIGN_OR_RETURN(check::NpyWriter writer,
                   check::NpyWriter::open(folder / name, DType::kInt64, {4}));
  for (const loadgen::Sample& sample : recorded.samples) {
    const std::array<std::int64_t, 4> row = {sample.intended_start_ns, sample.start_ns,
                                             sample.end_ns,
                                             static_cast<std::int64_t>(sample.query)};
    RETURN_IF_ERROR(writer.append(std::as_bytes(std::span(row))));
  }
  RETURN_IF_ERROR(writer.finish());
  Json entry{{"what", fmt::format("calls of {}, client {}: intended start, start and end (ns, "
                                  "CLOCK_MONOTONIC), query; {} calls came after these",
                                  record, client, recorded.successes - recorded.samples.size())},
             {"path", relative_path(name)}};
  add_window(view, entry);
  kept.push_back(std::move(entry));
  return ok_status();
}

}  // namespace

Status keep_outputs(const fs::path& store, const fs::path& folder, Json& kept) {
  ASSIGN_OR_RETURN(check::OutputReader reader, check::OutputReader::open(store));
  for (std::size_t k = 0; k < reader.outputs().size(); ++k) {
    const TensorSpec& spec = reader.outputs()[k];
    const std::string name = fmt::format("output-{}.npy", k);
    ASSIGN_OR_RETURN(check::NpyWriter writer,
                     check::NpyWriter::open(folder / name, spec.dtype, spec.shape));
    for (std::uint64_t i = 0; i < reader.sample_count(); ++i) {
      ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, reader.output(i, k));
      RETURN_IF_ERROR(writer.append(bytes));
    }
    RETURN_IF_ERROR(writer.finish());
    kept.push_back({{"what", fmt::format("output \"{}\" of every sample, in order", spec.name)},
                    {"path", relative_path(name)}});
  }
  return ok_status();
}

Status keep_latencies(const std::vector<fs::path>& records, const fs::path& folder, Json& kept) {
  for (const fs::path& record : records) {
    ASSIGN_OR_RETURN(const std::string bytes, read_file(record));
    const Result<loadgen::RecordView> view = loadgen::parse(std::as_bytes(std::span(bytes)));
    if (!view.ok()) {  // of a worker that was lost: kept as it is
      kept.push_back({{"what", fmt::format("record {}, unreadable: {}", record.stem().string(),
                                           view.status().message())},
                      {"path", relative_path(record.filename().string())}});
      continue;
    }
    for (std::size_t client = 0; client < view->clients.size(); ++client) {
      RETURN_IF_ERROR(keep_client(record.stem().string(), client, *view, folder, kept));
    }
    std::error_code ignored;
    fs::remove(record, ignored);
  }
  return ok_status();
}

}  // namespace assay::controller
