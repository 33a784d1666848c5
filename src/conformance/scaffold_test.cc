#include "conformance/scaffold.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/testing.h"
#include "host/host_test_support.h"
#include "host/manifest.h"
#include "host/support.h"

namespace assay::conformance {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class NewBackend : public ::testing::Test {
 protected:
  host::testing::ScratchFolder scratch_;
};

TEST_F(NewBackend, InCppHasAManifestThatIsRead) {
  ASSERT_THAT(write_new_backend("MY_CARD2", "cpp", scratch_.path()), IsOk());
  const auto manifest = host::read_manifest(scratch_.path() / "MY_CARD2");
  ASSERT_THAT(manifest, IsOk());
  EXPECT_EQ(manifest->library, "libassay_backend_my_card2.so");
  const auto support = host::read_support(manifest->folder);
  ASSERT_THAT(support, IsOk());
  EXPECT_FALSE(support->takes_format("onnx"));
}

TEST_F(NewBackend, LeavesNoPlaceholder) {
  for (const char* const language : {"cpp", "python"}) {
    const auto files = write_new_backend("XPU", language, scratch_.path() / language);
    ASSERT_THAT(files, IsOk());
    for (const auto& path : *files) {
      EXPECT_THAT(path.string(), Not(HasSubstr("@")));
      const auto text = read_file(path);
      ASSERT_THAT(text, IsOk());
      EXPECT_THAT(*text, AllOf(Not(HasSubstr("@HW@")), Not(HasSubstr("@hw@")))) << path;
    }
  }
}

TEST_F(NewBackend, InPythonHasTheNamesThatTheEngineImports) {
  ASSERT_THAT(write_new_backend("XPU", "python", scratch_.path()), IsOk());
  const auto text = read_file(scratch_.path() / "XPU" / "runtime_backend_xpu.py");
  ASSERT_THAT(text, IsOk());
  EXPECT_THAT(*text, HasSubstr("class RuntimeBackendXPU(runtime_backend.RuntimeBackend):"));
}

TEST_F(NewBackend, RefusesWhatIsNoHardwareTypeAndOtherLanguages) {
  for (const char* const name : {"", "xpu", "1XPU", "X-PU", "X/../Y"}) {
    EXPECT_THAT(write_new_backend(name, "cpp", scratch_.path()),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("hardware type")));
  }
  EXPECT_THAT(
      write_new_backend("XPU", "rust", scratch_.path()),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("rust"), HasSubstr("cpp, python"))));
}

TEST_F(NewBackend, WritesOverNothing) {
  ASSERT_THAT(write_new_backend("XPU", "cpp", scratch_.path()), IsOk());
  EXPECT_THAT(write_new_backend("XPU", "cpp", scratch_.path()),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("XPU")));
}

}  // namespace
}  // namespace assay::conformance
