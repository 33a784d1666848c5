#pragma once

#include "assay/backend.hpp"
#include "python_api.h"

namespace assay::python {

// The object that assay_host gets as a loader, over the host's samples:
//   .size      samples; 0: there are none
//   .disjoint  whether none of them is evaluated
//   .specs     list of (name, dtype code, shape), in the order of the model's inputs and with the
//              batch of what was read first; reads a sample when nothing was
//   .read(first, count) -> tuple of memoryview, one for each input: bytes of their own
// It may outlive the call that it was made for; what needs the host then raises RuntimeError.
class LoaderObject {
 public:
  // `loader` is borrowed until this goes. With the interpreter lock held; throws backend::Error.
  explicit LoaderObject(backend::DataLoader& loader);
  LoaderObject(const LoaderObject&) = delete;
  LoaderObject& operator=(const LoaderObject&) = delete;
  ~LoaderObject();

  PyObject* get() const { return object_.get(); }

 private:
  Ref object_;
};

}  // namespace assay::python
