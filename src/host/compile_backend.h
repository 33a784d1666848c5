#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/library.h"
#include "tensor/tensor.h"

namespace assay::host {

// Samples that compile may calibrate on, or benchmark may run.
class CalibrationData {
 public:
  virtual ~CalibrationData() = default;
  virtual std::uint64_t sample_count() const = 0;
  // False when these samples are evaluated too; the report then says "calibrated on evaluation
  // data".
  virtual bool disjoint() const = 0;
  // Samples [first, first + count) as one batch, every input in order. What is returned stays valid
  // until the next read. kOutOfRange past the end.
  virtual Result<std::span<const TensorView>> read(std::uint64_t first, std::uint64_t count) = 0;
};

// No samples at all.
class NoData : public CalibrationData {
 public:
  std::uint64_t sample_count() const override { return 0; }
  bool disjoint() const override { return true; }
  Result<std::span<const TensorView>> read(std::uint64_t first, std::uint64_t count) override;
};

struct CompileTraits {
  std::string hardware_type;
  bool need_reload = false;
  bool need_quant = false;
};

// Heartbeat of compile: `done` in 0..1 or negative when unknown, and a stage for people. Returns
// false to ask compile to end. Called from threads of the backend.
using CompileProgress = std::function<bool(double done, std::string_view stage)>;

struct CompileRequest {
  std::string configs;                    // JSON text: {workload, model_info, interact_info}
  std::filesystem::path artifact_folder;  // absolute, existing, empty
  CompileProgress progress;               // may be empty
};

// A backend's compiler. Failures carry the backend's own code and text.
// Thread rule: one call at a time; movable between threads.
class CompileBackend {
 public:
  static Result<CompileBackend> create(const Library& library);

  CompileBackend(CompileBackend&&) noexcept = default;
  CompileBackend& operator=(CompileBackend&&) noexcept = default;

  Result<CompileTraits> traits();

  // JSON text as the backend wrote it, "" when it has no questions.
  Result<std::string> get_interact_profile(std::string_view configs);

  // The whole new configs as JSON text, or none when nothing was changed. `folder` exists.
  Result<std::optional<std::string>> pre_optimize(std::string_view configs,
                                                  const std::filesystem::path& folder);

  // None keeps the workload's. kInternal for an empty list or a size below 1.
  Result<std::optional<std::vector<std::int64_t>>> get_best_batch_size();

  // The compile result as JSON text; kInternal when the backend wrote none. May take hours.
  Result<std::string> compile(const CompileRequest& request, CalibrationData& data);

 private:
  struct Destroy {
    const assay_compile_table* table;
    void operator()(assay_compiler* compiler) const { table->destroy(compiler); }
  };
  CompileBackend(Library library, assay_compiler* compiler);
  const assay_compile_table& table() const { return *library_.plugin().compile; }

  Library library_;
  std::unique_ptr<assay_compiler, Destroy> compiler_;
};

}  // namespace assay::host
