#pragma once

// The built backend, for the tests of its modules.

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/testing.h"
#include "host/backend.h"
#include "host/built_backend_test_support.h"

namespace assay {

inline const host::Library& cpu_library() {
  static const host::Library kOpened = host::testing::open_built("CPU", ASSAY_CPU_BACKENDS);
  return kOpened;
}

class CpuModule : public host::testing::BuiltBackend {
 protected:
  explicit CpuModule(const host::Library& library = cpu_library())
      : BuiltBackend(library, "cpu-module") {}

  // Of a model of tests/data/models, with more of its model info.
  static Json info_of(const std::string& file, const std::string& format,
                      const Json& info = Json::object()) {
    Json configs = configs_of(host::testing::kModels / file, format);
    configs["model_info"].update(info);
    return configs;
  }
};

}  // namespace assay
