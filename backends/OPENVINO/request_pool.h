#pragma once

#include <mutex>
#include <openvino/runtime/compiled_model.hpp>
#include <openvino/runtime/infer_request.hpp>
#include <vector>

namespace openvino {

// Infer requests of one compiled model, one for each call that is under way. Thread-safe.
class RequestPool {
 public:
  // Makes the first request at once, so that no call has to.
  explicit RequestPool(ov::CompiledModel model);

  // A request for one call. One that is not given back, since its call failed, is dropped.
  ov::InferRequest take();
  void give_back(ov::InferRequest request);

 private:
  ov::CompiledModel model_;
  std::mutex mutex_;
  std::vector<ov::InferRequest> idle_;  // guarded by mutex_
};

}  // namespace openvino
