// The backend where none of the runtimes that come on demand is there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "module_test_support.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// A folder with the backend's library alone. It stays until the process ends, as the library does.
const host::Library& lonely_library() {
  static const host::Library kOpened = [] {
    const auto manifest = host::find_backend("CPU", {ASSAY_CPU_BACKENDS});
    EXPECT_THAT(manifest, IsOk());
    const fs::path folder =
        fs::path(::testing::TempDir()) / ("lonely cpu " + std::to_string(::getpid()));
    fs::create_directories(folder);
    const fs::path copy = folder / manifest->library_path().filename();
    fs::copy_file(manifest->library_path(), copy, fs::copy_options::overwrite_existing);
    host::Library opened = *host::Library::open(copy, nullptr);
    fs::remove_all(folder);  // it is open
    return opened;
  }();
  return kOpened;
}

class LonelyCpu : public CpuModule {
 protected:
  LonelyCpu() : CpuModule(lonely_library()) {}
};

TEST_F(LonelyCpu, VersionNamesNoRuntimeThatIsNotThere) {
  auto runtime = host::RuntimeBackend::create(lonely_library());
  ASSERT_THAT(runtime, IsOk());
  EXPECT_THAT(*runtime->version(), MatchesRegex("ONNX Runtime [0-9.]+, CPU backend [0-9.]+"));
}

TEST_F(LonelyCpu, MissingRuntimeIsSaidWithTheCommandThatBringsIt) {
  for (const auto& [format, product] : std::vector<std::pair<std::string, std::string>>{
           {"pt", "LibTorch"}, {"saved_model", "OpenVINO"}, {"tflite", "OpenVINO"}}) {
    EXPECT_THAT(compile(info_of("linear.pt", format)),
                StatusIs(StatusCode::kUnavailable,
                         AllOf(HasSubstr("\"" + format + "\""), HasSubstr(product),
                               HasSubstr("tools/setup --backend CPU/" + format))));
  }
}

TEST_F(LonelyCpu, UnknownFormatNamesAllThatThereCanBe) {
  EXPECT_THAT(compile(info_of("linear.pt", "caffe")),
              StatusIs(StatusCode::kUnimplemented,
                       AllOf(HasSubstr("\"caffe\""), HasSubstr("onnx, pt, saved_model, tflite"))));
}

TEST_F(LonelyCpu, OnnxRunsAllTheSame) {
  EXPECT_THAT(compile(info_of("convolution.onnx", "onnx")), IsOk());
}

}  // namespace
}  // namespace assay
