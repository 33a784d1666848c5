#include "request_pool.h"

#include <utility>

namespace openvino {

RequestPool::RequestPool(ov::CompiledModel model) : model_(std::move(model)) {
  idle_.push_back(model_.create_infer_request());
}

ov::InferRequest RequestPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      ov::InferRequest request = std::move(idle_.back());
      idle_.pop_back();
      return request;
    }
  }
  return model_.create_infer_request();
}

void RequestPool::give_back(ov::InferRequest request) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(request));
}

}  // namespace openvino
