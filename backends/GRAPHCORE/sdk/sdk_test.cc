// The way to a real chip, held against doubles: a converter of a few lines of Python, and a module
// that stands for the vendor's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/testing.h"
#include "chip_compile.h"
#include "host/document.h"
#include "sdk/child.h"
#include "sdk/convert.h"
#include "sdk/device.h"
#include "sdk/location.h"

namespace graphcore {
namespace {

namespace fs = std::filesystem;
namespace backend = assay::backend;
using assay::testing::ScratchFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The code and the text of what `work` throws.
template <typename Work>
std::pair<std::int32_t, std::string> error_of(Work work) {
  try {
    work();
  } catch (const backend::Error& error) {
    return {error.code(), error.what()};
  }
  return {ASSAY_OK, "nothing was thrown"};
}

// ---- Where it is --------------------------------------------------------------------------------

TEST(Location, IsWhatTheEnableScriptNames) {
  const ScratchFolder scratch;
  fs::create_directories(scratch.path() / "lib");
  std::ofstream(scratch.path() / "lib" / "libpoplar.so");
  ::setenv("POPLAR_SDK_ENABLED", scratch.path().c_str(), 1);
  EXPECT_EQ(find_sdk().folder, scratch.path());
  ::unsetenv("POPLAR_SDK_ENABLED");
  EXPECT_FALSE(find_sdk().found());
}

TEST(Location, IsFoundWhereItWasUnpacked) {
  const ScratchFolder scratch;
  const fs::path poplar = scratch.path() / "sdk-3.3" / "poplar-3.3.0";
  fs::create_directories(poplar / "lib");
  ::unsetenv("POPLAR_SDK_ENABLED");
  ::setenv("POPLAR_SDK", scratch.path().c_str(), 1);
  EXPECT_FALSE(find_sdk().found()) << "an empty folder is no SDK";
  std::ofstream(poplar / "lib" / "libpoplar.so");
  EXPECT_EQ(find_sdk().folder, poplar);
  ::unsetenv("POPLAR_SDK");
}

TEST(Location, SaysWhereItLookedAndHowToGetIt) {
  ::unsetenv("POPLAR_SDK_ENABLED");
  EXPECT_THAT(sdk_missing(find_sdk()),
              AllOf(HasSubstr("Poplar SDK not found (looked in POPLAR_SDK_ENABLED, which is not "
                              "set, POPLAR_SDK, which is not set)"),
                    HasSubstr("enable.sh"), HasSubstr("device=ipu_model")));
}

// ---- The converter ------------------------------------------------------------------------------

constexpr const char* kConverter = R"(
import os, sys, time
words = sys.argv[1:]
folder = words[words.index("--output_dir") + 1]
mode = os.environ["FAKE_POPRT"]
print("arguments:", words, flush=True)
if mode == "hang": time.sleep(600)
if mode == "memory":
    print("poplar::graph_memory_allocation_error: Out of memory on tile 3", file=sys.stderr)
    sys.exit(1)
if mode == "fails":
    print("unsupported operator Foo", file=sys.stderr)
    sys.exit(4)
if mode == "abort": os.abort()
if mode == "floods":
    while True: print("x" * 100000)
if mode != "nothing":
    open(os.path.join(folder, "executable.popef"), "w").write("fine")
)";

class Converter : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(scratch_.path() / "poprt");
    fs::create_directories(scratch_.path() / "out put");
    std::ofstream(scratch_.path() / "poprt" / "__init__.py");
    std::ofstream(scratch_.path() / "poprt" / "cli.py") << kConverter;
    ::setenv("PYTHONPATH", scratch_.path().c_str(), 1);
    request_.model = "/models/a model.onnx";
    request_.folder = scratch_.path() / "out put";
    request_.shapes = {{"input", {1, 3, 224, 224}}, {"mask", {1, 128}}};
    request_.options.precision = "fp16";
    request_.options.batches_per_step = 2;
    request_.options.popart = {{"groupHostSync", "true"}};
  }
  std::pair<std::int32_t, std::string> convert_in(const char* mode) {
    ::setenv("FAKE_POPRT", mode, 1);
    return error_of([&] { convert(request_); });
  }
  std::string log() const {
    std::ifstream file(request_.folder + "/convert.log");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  ScratchFolder scratch_;
  ConvertRequest request_;
};

TEST_F(Converter, GetsEveryOptionAsAWordOfItsOwn) {
  const std::vector<std::string> words = converter_arguments(request_);
  EXPECT_THAT(std::vector(words.begin(), words.begin() + 3),
              ElementsAre("python3", "-m", "poprt.cli"));
  for (const char* word : {"/models/a model.onnx", "fp16", "input=1,3,224,224", "mask=1,128",
                           "groupHostSync=true", "partialsTypeMatMuls=float", "ipu21"}) {
    EXPECT_THAT(words, Contains(word));
  }
}

TEST_F(Converter, WritesTheExecutableAndItsLog) {
  EXPECT_EQ(convert_in("fine").first, ASSAY_OK);
  EXPECT_TRUE(fs::exists(request_.folder + "/executable.popef"));
  EXPECT_THAT(log(), HasSubstr("'/models/a model.onnx'")) << "no shell has split it";
}

TEST_F(Converter, SaysWhatItsFailureWas) {
  auto [code, text] = convert_in("fails");
  EXPECT_EQ(code, ASSAY_UNKNOWN);
  EXPECT_THAT(text, AllOf(HasSubstr("ended with code 4"), HasSubstr("unsupported operator Foo")));
  std::tie(code, text) = convert_in("memory");
  EXPECT_EQ(code, ASSAY_RESOURCE_EXHAUSTED);
  EXPECT_THAT(text, AllOf(HasSubstr("does not fit the chip"), HasSubstr("tile 3")));
  std::tie(code, text) = convert_in("abort");
  EXPECT_THAT(text, HasSubstr("died of signal 6"));
  std::tie(code, text) = convert_in("nothing");
  EXPECT_THAT(text, HasSubstr("succeeded without writing executable.popef"));
}

TEST_F(Converter, IsStoppedAtItsDeadline) {
  request_.deadline = std::chrono::milliseconds(300);
  const auto [code, text] = convert_in("hang");
  EXPECT_EQ(code, ASSAY_DEADLINE_EXCEEDED);
  EXPECT_THAT(text, HasSubstr("was stopped after 300 ms"));
}

TEST_F(Converter, EndsWhenItIsAskedTo) {
  request_.goes_on = [] { return false; };
  EXPECT_EQ(convert_in("hang").first, ASSAY_CANCELLED);
}

TEST_F(Converter, ThatIsNotThereIsUnavailable) {
  ::unsetenv("PYTHONPATH");
  EXPECT_EQ(convert_in("fine").first, ASSAY_UNAVAILABLE);
  request_.python = "/nowhere/python3";
  const auto [code, text] = convert_in("fine");
  EXPECT_EQ(code, ASSAY_UNAVAILABLE);
  EXPECT_THAT(text, HasSubstr("cannot start /nowhere/python3"));
}

TEST_F(Converter, ThatPrintsWithoutEndIsStopped) {
  ::setenv("FAKE_POPRT", "floods", 1);
  ChildRequest child;
  child.arguments = converter_arguments(request_);
  child.log = request_.folder + "/convert.log";
  child.log_limit_bytes = 1'000'000;
  EXPECT_EQ(run_child(child).why, ChildEnd::Why::kTooMuchLog);
}

// ---- The module ---------------------------------------------------------------------------------

class Chip : public ::testing::Test {
 protected:
  std::string executable(const std::string& mode) {
    std::ofstream(scratch_.path() / mode) << mode;
    return scratch_.path() / mode;
  }
  std::pair<std::int32_t, std::string> load(const std::string& mode) {
    return error_of([&] { const Device device(module_, executable(mode), 50); });
  }
  // x = 1 2 3 4 through an executable of this mode.
  std::vector<float> run(const std::string& mode, std::uint64_t bytes = 16) {
    Device device(module_, executable(mode), 50);
    const std::int64_t shape[] = {1, 4};
    const float x[] = {1, 2, 3, 4};
    assay_tensor tensor{};
    tensor.name = "x";
    tensor.dtype = ASSAY_FLOAT32;
    tensor.rank = 2;
    tensor.shape = shape;
    tensor.size_bytes = bytes;
    tensor.data = const_cast<float*>(x);
    std::vector<float> y(4);
    assay_output_sink sink{sizeof sink, 0, y.data(),
                           [](void* memory, std::uint32_t, assay_tensor* output, assay_error*) {
                             output->data = memory;
                             return ASSAY_OK;
                           }};
    backend::Outputs outputs(sink, device.signature().outputs);
    device.run(backend::Inputs(&tensor, 1), outputs, 50);
    device.close();
    return y;
  }

  ScratchFolder scratch_;
  const graphcore_module& module_ = open_module(DEVICE_DOUBLE);
};

TEST_F(Chip, RunsWhatItHasLoaded) {
  EXPECT_THAT(run("fine"), ElementsAre(2, 4, 6, 8));
  EXPECT_EQ(count_devices(module_), 4U) << "and gave the chip back";
}

TEST_F(Chip, AskingForDevicesAcquiresNone) {
  EXPECT_EQ(count_devices(module_), 4U);
  EXPECT_EQ(count_devices(module_), 4U);
}

TEST_F(Chip, ErrorsAreValuesWithAText) {
  EXPECT_EQ(load("unavailable"),
            std::pair(ASSAY_UNAVAILABLE, std::string("load: no chip within 50 ms")));
  EXPECT_EQ(load("mismatch"),
            std::pair(ASSAY_FAILED_PRECONDITION, std::string("load: made by 3.2, here is 3.3")));
  EXPECT_EQ(error_of([&] { run("memory"); }),
            std::pair(ASSAY_RESOURCE_EXHAUSTED, std::string("run: tile 7 is full")));
  EXPECT_EQ(error_of([&] { run("slow"); }),
            std::pair(ASSAY_DEADLINE_EXCEEDED, std::string("run: the chip is silent")));
  EXPECT_EQ(error_of([&] { run("failing"); }),
            std::pair(ASSAY_UNKNOWN, std::string("run: link error")));
  EXPECT_EQ(error_of([&] { run("mute"); }),
            std::pair(ASSAY_UNKNOWN, std::string("run: no reason was given")));
  EXPECT_EQ(count_devices(module_), 4U) << "every failure gave the chip back";
}

TEST_F(Chip, ASizeThatDoesNotFitIsAnErrorBeforeAnythingRuns) {
  const auto [code, text] = error_of([&] { run("fine", 12); });
  EXPECT_EQ(code, ASSAY_INVALID_ARGUMENT);
  EXPECT_THAT(text, HasSubstr("input \"x\" has 12 bytes, [1,4] takes 16"));
}

TEST_F(Chip, ASizeThatIsNotItsShapesIsRefusedBeforeAnythingRuns) {
  EXPECT_EQ(load("steps"),
            std::pair(ASSAY_INTERNAL, std::string("describe: \"x\" takes 32 bytes, [1,4] is 16")));
  EXPECT_EQ(count_devices(module_), 4U);
}

TEST_F(Chip, ADtypeWithoutANameIsRefused) {
  EXPECT_THAT(load("untyped").second, HasSubstr("\"x\" has no dtype of ours"));
  EXPECT_EQ(count_devices(module_), 4U);
}

// The whole way on doubles: found, converted for two batch sizes, loaded, run.
TEST_F(Converter, CompilesForEveryBatchSizeOfItsOwn) {
  const fs::path sdk = scratch_.path() / "sdk";
  fs::create_directories(sdk / "lib");
  std::ofstream(sdk / "lib" / "libpoplar.so");
  ::setenv("POPLAR_SDK_ENABLED", sdk.c_str(), 1);
  ::setenv("FAKE_POPRT", "fine", 1);
  Options options;
  EXPECT_TRUE(goes_by_chip(options)) << "auto, where the SDK is";
  options.device = "ipu_model";
  EXPECT_FALSE(goes_by_chip(options));

  const std::string text =
      R"({"model_info": {"model_path": "/m.onnx", "inputs": "x,", "outputs": "y",)"
      R"( "input_shape": {"x": [1, 4]}}})";
  const assay::host::BoundaryDocument parsed = assay::host::BoundaryDocument::parse(text).value();
  const assay_document lent = parsed.get();
  const std::string folder = request_.folder;
  assay_compile_request wanted{};
  wanted.struct_size = sizeof wanted;
  wanted.artifact_folder = {folder.data(), folder.size()};
  wanted.progress = [](void*, double, const char*) -> std::uint32_t { return 0; };
  const std::string result =
      compile_for_chip(backend::Document(lent), backend::CompileJob(wanted), options, {1, 4});
  EXPECT_THAT(result, ::testing::Not(HasSubstr("simulated")));
  EXPECT_TRUE(fs::exists(fs::path(folder) / "bs1" / "executable.popef"));

  Options several = options;
  several.batches_per_step = 2;
  EXPECT_EQ(
      error_of([&] {
        compile_for_chip(backend::Document(lent), backend::CompileJob(wanted), several, {1});
      }),
      std::pair(ASSAY_UNIMPLEMENTED, std::string("batches_per_step is 2; accepted on a chip: 1")));

  const assay::host::BoundaryDocument compiled =
      assay::host::BoundaryDocument::parse(result).value();
  const assay_document compiled_lent = compiled.get();
  backend::LoadRequest load;
  load.compile_result = backend::Document(compiled_lent);
  load.artifact_folder = folder;
  load.batch_size = 4;
  EXPECT_EQ(executable_for(load), folder + "/bs4/executable.popef");
  load.batch_size = 2;
  EXPECT_EQ(error_of([&] { executable_for(load); }),
            std::pair(ASSAY_NOT_FOUND, std::string("no executable for batches of 2; there are "
                                                   "some for 1, 4")));
  ::unsetenv("POPLAR_SDK_ENABLED");
  options.device = "ipu";
  EXPECT_EQ(error_of([&] { goes_by_chip(options); }).first, ASSAY_UNAVAILABLE);
}

TEST(Module, OfAnotherVersionOrNoneIsRefused) {
  auto [code, text] = error_of([] { open_module(DEVICE_DOUBLE_NEWER); });
  EXPECT_EQ(code, ASSAY_FAILED_PRECONDITION);
  EXPECT_THAT(text, HasSubstr("speaks version 7 of the seam, this backend version 1"));
  std::tie(code, text) = error_of([] { open_module("/nowhere/module.so"); });
  EXPECT_EQ(code, ASSAY_UNAVAILABLE);
}

}  // namespace
}  // namespace graphcore
