#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"
#include "base/result.h"
#include "conformance/check.h"
#include "conformance/models.h"
#include "controller/session.h"
#include "drill/finding.h"
#include "drill/job.h"
#include "host/manifest.h"
#include "host/support.h"
#include "worker/client.h"

namespace assay::conformance {

struct BenchSettings {
  controller::SessionSettings session;   // log_folder is the bench's
  std::filesystem::path scratch;         // an existing empty folder, the bench's alone
  std::filesystem::path model;           // of a backend that takes none of the suite's; may be ""
  std::vector<std::string> set_options;  // name=value, answers to the backend's questions
  bool quick = false;
};

// A model, compiled.
struct CompiledModel {
  drill::Job job;  // ready to be loaded
  std::optional<std::int64_t> max_batch_size;
};

// What checks work with: workers of the backend, the suite's model, folders of their own. One
// thread. Everything that a check starts ends with it.
class Bench {
 public:
  Bench(BenchSettings settings, Result<host::Manifest> manifest);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const Result<host::Manifest>& read_manifest() const { return manifest_; }
  const host::Manifest& manifest() const { return *manifest_; }  // needs one that could be read
  const host::Support& support() const { return support_; }
  bool takes_onnx() const { return support_.takes_format("onnx"); }
  bool quick() const { return settings_.quick; }
  bool interrupted() const;

  // Which check is running; names logs.
  void begin(const std::string& check);

  // An existing empty folder; `name` may hold spaces and any letters.
  Result<std::filesystem::path> folder(const std::string& name);

  using Work = std::function<Result<CheckResult>(controller::Session& session)>;
  // Runs `work` in a worker of its own with the backend opened. A worker that is lost, or that does
  // not close well after work that passed, is a failed check. `environment` adds to the manifest's.
  CheckResult in_worker(const Work& work,
                        const std::map<std::string, std::string>& environment = {});
  // The same in a worker that has not opened the backend.
  CheckResult in_fresh_worker(const std::function<Result<CheckResult>(worker::Client&)>& work);

  // The everyday model: made once, compiled once in a worker of its own.
  const Result<Model>& model();
  const Result<CompiledModel>& compiled();
  // The suite's job with everything but the artifact in common.
  Result<CompiledModel> compile(controller::Session& session, const Model& model,
                                const std::filesystem::path& artifact);
  std::string configs(const Model& model);

  // One drill in a worker: failed with its violation.
  CheckResult drill(const std::string& name, const Json& arguments);
  CheckResult drill(const std::string& name);
  // With the everyday model among the arguments.
  CheckResult model_drill(const std::string& name, const Json& arguments);
  CheckResult model_drill(const std::string& name);

  controller::SessionSettings session_settings() const;

 private:
  Result<Model> make_model();
  Result<CompiledModel> compile_everyday();
  const Json& answers();
  CheckResult judged(const worker::PhaseEnd& end, CheckResult result,
                     const std::filesystem::path& log) const;
  std::string log_name();

  BenchSettings settings_;
  Result<host::Manifest> manifest_;
  host::Support support_;
  std::string check_;
  int workers_ = 0;  // of this check, so far
  int folders_ = 0;
  std::optional<JsonValue> answers_;
  std::optional<Result<Model>> model_;
  std::optional<Result<CompiledModel>> compiled_;
};

// A drill in a session that is there.
Result<drill::Finding> call_drill(controller::Session& session, const std::string& name,
                                  const Json& arguments);
CheckResult result_of(const drill::Finding& finding);

// How long one drill may take, unless the user said otherwise.
inline constexpr std::chrono::seconds kDrillTimeout{300};

}  // namespace assay::conformance
