// The worker's operations that describe and make artifacts.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "worker/server_state.h"

namespace assay::worker {
namespace {

Json null_or(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

// Calibration samples, asked from the controller one by one; it writes each into the shared slot.
class RemoteCalibration : public host::CalibrationData {
 public:
  RemoteCalibration(Server& server, const Json& description, SharedMemory memory,
                    std::vector<TensorSpec> inputs)
      : server_(&server),
        memory_(std::move(memory)),
        count_(description.value("count", std::uint64_t{0})),
        disjoint_(description.value("disjoint", false)) {
    layout_.inputs = std::move(inputs);
    layout_.input_slots = 1;
  }

  std::uint64_t sample_count() const override { return count_; }
  bool disjoint() const override { return disjoint_; }
  Result<std::span<const TensorView>> read(std::uint64_t first, std::uint64_t count) override;

 private:
  Status make_batch(std::uint64_t count);

  Server* server_;
  SharedMemory memory_;
  ArenaLayout layout_;
  std::uint64_t count_;
  bool disjoint_;
  std::vector<Tensor> batch_;
  std::vector<TensorView> views_;
};

Result<std::span<const TensorView>> RemoteCalibration::read(std::uint64_t first,
                                                            std::uint64_t count) {
  if (count == 0 || first >= count_ || count > count_ - first) {
    return out_of_range(
        fmt::format("calibration samples {} to {} of {}", first, first + count, count_));
  }
  RETURN_IF_ERROR(make_batch(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const Json reply,
                     server_->event({{"event", "calibration"}, {"index", first + i}}, true));
    if (reply.contains("error")) return internal_error(reply["error"].get<std::string>());
    for (std::size_t k = 0; k < batch_.size(); ++k) {
      const auto sample = input_bytes(layout_, memory_.bytes(), 0, k);
      std::copy(sample.begin(), sample.end(),
                batch_[k].bytes().begin() + static_cast<std::ptrdiff_t>(i * sample.size()));
    }
  }
  return std::span<const TensorView>(views_);
}

Status RemoteCalibration::make_batch(std::uint64_t count) {
  batch_.clear();
  views_.clear();
  for (TensorSpec spec : layout_.inputs) {
    ASSIGN_OR_RETURN(spec.shape, with_batch(spec.shape, static_cast<std::int64_t>(count)));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::make(std::move(spec)));
    batch_.push_back(std::move(tensor));
  }
  for (const Tensor& tensor : batch_) views_.push_back(tensor.view());
  return ok_status();
}

}  // namespace

Result<Json> Server::interact_profile(const Json& request, int /*fd*/) {
  ASSIGN_OR_RETURN(const std::string configs, member<std::string>(request, "configs"));
  ASSIGN_OR_RETURN(host::CompileBackend * backend, compiler());
  calling("get_interact_profile");
  ASSIGN_OR_RETURN(const std::string profile, backend->get_interact_profile(configs));
  return Json{{"profile", profile}};
}

Result<Json> Server::pre_optimize(const Json& request, int /*fd*/) {
  ASSIGN_OR_RETURN(const std::string configs, member<std::string>(request, "configs"));
  ASSIGN_OR_RETURN(const std::string folder, member<std::string>(request, "folder"));
  ASSIGN_OR_RETURN(host::CompileBackend * backend, compiler());
  calling("pre_optimize");
  ASSIGN_OR_RETURN(const std::optional<std::string> changed,
                   backend->pre_optimize(configs, folder));
  return Json{{"configs", null_or(changed)}};
}

Result<Json> Server::best_batch_size(const Json& /*request*/, int /*fd*/) {
  ASSIGN_OR_RETURN(host::CompileBackend * backend, compiler());
  calling("get_best_batch_size");
  ASSIGN_OR_RETURN(const auto sizes, backend->get_best_batch_size());
  return Json{{"batch_sizes", sizes ? Json(*sizes) : Json(nullptr)}};
}

Result<std::unique_ptr<host::CalibrationData>> Server::samples(const Json& request, int fd) {
  std::unique_ptr<host::CalibrationData> data = std::make_unique<host::NoData>();
  if (fd < 0) return data;
  ASSIGN_OR_RETURN(const Json description, member<Json>(request, "calibration"));
  ASSIGN_OR_RETURN(const std::size_t bytes, member<std::size_t>(description, "bytes"));
  ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::attach(fd, bytes));
  ASSIGN_OR_RETURN(std::vector<TensorSpec> inputs,
                   specs_from_json(description.value("inputs", Json())));
  data =
      std::make_unique<RemoteCalibration>(*this, description, std::move(memory), std::move(inputs));
  return data;
}

Result<Json> Server::compile(const Json& request, int fd) {
  host::CompileRequest job;
  ASSIGN_OR_RETURN(job.configs, member<std::string>(request, "configs"));
  ASSIGN_OR_RETURN(const std::string folder, member<std::string>(request, "artifact_folder"));
  job.artifact_folder = folder;
  job.progress = [this](double done, std::string_view stage) {
    return event({{"event", "progress"}, {"done", done}, {"stage", stage}}, false).ok();
  };
  ASSIGN_OR_RETURN(host::CompileBackend * backend, compiler());
  ASSIGN_OR_RETURN(const std::unique_ptr<host::CalibrationData> data, samples(request, fd));
  calling("compile");
  const std::int64_t start_ns = now_ns();
  ASSIGN_OR_RETURN(const std::string result, backend->compile(job, *data));
  return Json{{"result", result}, {"wall_ns", now_ns() - start_ns}};
}

}  // namespace assay::worker
