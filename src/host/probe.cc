#include <exception>
#include <utility>

#include "host/boundary.h"
#include "host/runtime_backend.h"

namespace assay::host {
namespace {

struct ProbeCollector {
  ProbeResult result;
  bool answered = false;
  Status status;

  static void set_availability(void* context, const assay_availability* availability) {
    static_cast<ProbeCollector*>(context)->keep([&](ProbeCollector& self) {
      self.answered = true;
      self.result.available = availability->available != 0;
      self.result.reason = text_or_empty(availability->reason);
      self.result.driver_version = text_or_empty(availability->driver_version);
      self.result.sdk_version = text_or_empty(availability->sdk_version);
    });
  }

  static void add_device(void* context, const assay_device* device) {
    static_cast<ProbeCollector*>(context)->keep([&](ProbeCollector& self) {
      self.result.devices.push_back({device->id, text_or_empty(device->name),
                                     text_or_empty(device->serial), device->numa_node,
                                     device->memory_bytes});
    });
  }

 private:
  // Called from the backend's frames, which no exception may cross.
  template <typename F>
  void keep(F&& f) {
    try {
      f(*this);
    } catch (const std::exception& e) {
      status = internal_error(e.what());
    }
  }
};

}  // namespace

Result<std::optional<ProbeResult>> probe(const Library& library) {
  const assay_runtime_table& table = *library.plugin().runtime;
  if (!ASSAY_HAS(&table, probe)) return std::optional<ProbeResult>();
  ProbeCollector collector;
  const assay_probe_sink sink{sizeof sink, 0, &collector, &ProbeCollector::set_availability,
                              &ProbeCollector::add_device};
  CallError error;
  const std::int32_t code = table.probe(&library.host(), &sink, error.get());
  RETURN_IF_ERROR(error.to_status(code, library.name(), "probe"));
  RETURN_IF_ERROR(collector.status);
  if (!collector.answered) {
    return internal_error(library.name() + ": probe did not say whether it is available");
  }
  return std::optional<ProbeResult>(std::move(collector.result));
}

}  // namespace assay::host
