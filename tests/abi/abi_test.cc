#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "assay/backend.h"
#include "base/file.h"
#include "base/testing.h"
#include "host/backend.h"
#include "host/host_test_support.h"
#include "layout.h"
#include "tensor/dtype.h"

namespace assay::host {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::filesystem::path kPlugins = ASSAY_ABI_PLUGINS;

// ---- layout

std::string layout_text() {
  std::string text;
  for (std::size_t i = 0; i < kLayoutRows; ++i) {
    const layout_row& row = kLayout[i];
    text += *row.field == '\0' ? fmt::format("{} {}\n", row.type, row.size)
                               : fmt::format("  {} {} {}\n", row.field, row.offset, row.size);
  }
  return text;
}

TEST(Layout, IsTheOneThatBackendsWereBuiltWith) {
  const auto golden = read_file(ASSAY_SOURCE_DIR "/tests/abi/layout.golden");
  ASSERT_THAT(golden, IsOk());
  // Appending to a growable struct is a new minor: change the golden file and write an entry in
  // docs/reference/abi-changelog.md. Everything else is a new major.
  EXPECT_EQ(layout_text(), *golden);
}

// Also catches a field that is missing in layout.c.
TEST(Layout, HasNoPaddingThatACompilerCouldFillOtherwise) {
  std::size_t end = 0;
  std::size_t size = 0;
  for (std::size_t i = 0; i < kLayoutRows; ++i) {
    const layout_row& row = kLayout[i];
    if (*row.field == '\0') {
      EXPECT_EQ(end, size) << "before " << row.type;
      end = 0;
      size = row.size;
      continue;
    }
    EXPECT_EQ(row.offset, end) << row.type << "." << row.field;
    end = row.offset + row.size;
  }
  EXPECT_EQ(end, size);
}

TEST(Numbers, OfDtypesAreThoseOfTheTensorRoom) {
  EXPECT_EQ(ASSAY_FLOAT64, static_cast<std::uint32_t>(DType::kFloat64));
  EXPECT_EQ(ASSAY_FLOAT32, static_cast<std::uint32_t>(DType::kFloat32));
  EXPECT_EQ(ASSAY_FLOAT16, static_cast<std::uint32_t>(DType::kFloat16));
  EXPECT_EQ(ASSAY_BFLOAT16, static_cast<std::uint32_t>(DType::kBFloat16));
  EXPECT_EQ(ASSAY_FLOAT8E4M3, static_cast<std::uint32_t>(DType::kFloat8E4M3));
  EXPECT_EQ(ASSAY_INT64, static_cast<std::uint32_t>(DType::kInt64));
  EXPECT_EQ(ASSAY_INT32, static_cast<std::uint32_t>(DType::kInt32));
  EXPECT_EQ(ASSAY_INT16, static_cast<std::uint32_t>(DType::kInt16));
  EXPECT_EQ(ASSAY_INT8, static_cast<std::uint32_t>(DType::kInt8));
  EXPECT_EQ(ASSAY_UINT8, static_cast<std::uint32_t>(DType::kUInt8));
  EXPECT_EQ(ASSAY_BOOL, static_cast<std::uint32_t>(DType::kBool));
  EXPECT_EQ(ASSAY_UINT16, static_cast<std::uint32_t>(DType::kUInt16));
  EXPECT_EQ(ASSAY_UINT32, static_cast<std::uint32_t>(DType::kUInt32));
  EXPECT_EQ(ASSAY_UINT64, static_cast<std::uint32_t>(DType::kUInt64));
}

TEST(Numbers, OfCodesAreThoseOfTheBaseRoom) {
  EXPECT_EQ(ASSAY_INVALID_ARGUMENT, static_cast<std::int32_t>(StatusCode::kInvalidArgument));
  EXPECT_EQ(ASSAY_RESOURCE_EXHAUSTED, static_cast<std::int32_t>(StatusCode::kResourceExhausted));
  EXPECT_EQ(ASSAY_DATA_LOSS, static_cast<std::int32_t>(StatusCode::kDataLoss));
}

// ---- presence

TEST(Presence, NeedsASizeThatReachesTheEndAndASetSlot) {
  assay_host host{};
  host.log = [](void*, std::uint32_t, const char*, std::uint64_t) {};
  host.struct_size = offsetof(assay_host, log) + sizeof host.log;
  EXPECT_TRUE(ASSAY_HAS(&host, log));
  host.struct_size -= 1;
  EXPECT_FALSE(ASSAY_HAS(&host, log));
  host.struct_size = sizeof host + 100;  // a newer maker
  EXPECT_TRUE(ASSAY_HAS(&host, log));
  EXPECT_FALSE(ASSAY_HAS(&host, get_extension));
  EXPECT_TRUE(ASSAY_REACHES(&host, get_extension));
}

TEST(SetError, CutsToTheRoomThereIsAndEndsWithZero) {
  char text[5] = {'?', '?', '?', '?', '?'};
  assay_error error{0, 0, text, 4, 0};
  EXPECT_EQ(assay_set_error(&error, ASSAY_ABORTED, "abcdef"), ASSAY_ABORTED);
  EXPECT_STREQ(text, "abc");
  EXPECT_EQ(error.message_size, 3U);
  EXPECT_EQ(text[4], '?');
  assay_set_error(&error, ASSAY_ABORTED, "ab\xC3\xA9");  // the last character needs two bytes
  EXPECT_STREQ(text, "ab");
  assay_set_error(&error, ASSAY_ABORTED, nullptr);
  EXPECT_STREQ(text, "");
}

// ---- symbols

std::vector<std::string> exported_symbols(const std::filesystem::path& library) {
  const std::string command =
      std::string(ASSAY_NM) + " -D --defined-only '" + library.string() + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<std::string> symbols;
  char line[1024];
  while (std::fgets(line, sizeof line, pipe.get()) != nullptr) {
    std::istringstream words(line);
    std::string address;
    std::string kind;
    std::string name;
    words >> address >> kind >> name;
    symbols.push_back(name);
  }
  return symbols;
}

TEST(Symbols, OneLeavesALibraryBuiltHere) {
  EXPECT_THAT(exported_symbols(ASSAY_BINARY_DIR "/backends/NULL/libassay_backend_null.so"),
              ElementsAre("assay_backend_v0"));
}

TEST(Symbols, OneLeavesALibraryBuiltWithDefaultVisibility) {
  EXPECT_THAT(exported_symbols(kPlugins / "default_visibility.so"),
              ElementsAre("assay_backend_v0"));
}

// ---- other times

// Loads `name` and runs it once; gives what its version() says.
std::string run(const char* name) {
  const auto library = Library::open(kPlugins / (std::string(name) + ".so"));
  EXPECT_THAT(library, IsOk());
  auto compiler = CompileBackend::create(*library).value();
  NoData none;
  EXPECT_EQ(compiler.get_interact_profile("{}").value(), "");
  EXPECT_EQ(compiler.get_best_batch_size().value(), std::nullopt);
  EXPECT_THAT(compiler.compile({"{}", "/tmp", nullptr}, none), IsOk());

  auto runtime = RuntimeBackend::create(*library).value();
  EXPECT_THAT(runtime.load({}), IsOk());
  EXPECT_EQ(runtime.max_in_flight(), 0U);
  EXPECT_EQ(library->extension("assay.timing/1"), nullptr);
  EXPECT_EQ(probe(*library).value(), std::nullopt);
  EXPECT_THAT(runtime.recover(), StatusIs(StatusCode::kUnimplemented, HasSubstr("")));
  const Tensor input = testing::tensor_of<std::int8_t>("x", DType::kInt8, {1}, {42});
  const TensorView view = input.view();
  testing::KeepingSink sink;
  EXPECT_THAT(runtime.infer({&view, 1}, sink), IsOk());
  EXPECT_THAT(sink.outputs[0].values<std::int8_t>(), ElementsAre(42));
  return runtime.version().value();
}

TEST(OtherTimes, OlderPluginWithSmallerStructsRuns) { EXPECT_EQ(run("older"), "older"); }

TEST(OtherTimes, NewerPluginRunsAndSeesThatThisHostLacksItsNews) {
  EXPECT_EQ(run("newer"), "no,no");
}

TEST(OtherTimes, NewerPluginOnTheCppClassesRuns) {
  const auto library = Library::open(kPlugins / "newer_cpp.so");
  ASSERT_THAT(library, IsOk());
  EXPECT_EQ(library->interface_version(), "0.9");
  EXPECT_GT(library->plugin().runtime->struct_size, sizeof(assay_runtime_table));
  auto runtime = RuntimeBackend::create(*library).value();
  ASSERT_THAT(runtime.load({}), IsOk());
}

TEST(OtherTimes, PluginThatIsTooNewRefusesNamingBothVersions) {
  EXPECT_THAT(Library::open(kPlugins / "newer_only.so"),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("plugin speaks boundary version 0.9"),
                             HasSubstr("this Assay speaks 0.1"))));
}

TEST(OtherTimes, PluginThatIsTooOldIsRefusedNamingBothVersions) {
  // By the plugin's own check of the host: 0.0 accepts 0.1 but 0.1 says its oldest is 0.1.
  EXPECT_THAT(Library::open(kPlugins / "older_only.so"),
              StatusIs(StatusCode::kFailedPrecondition, AllOf(HasSubstr("0.0"), HasSubstr("0.1"))));
  EXPECT_THAT(Library::open(kPlugins / "older_unchecked.so"),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("older_unchecked.so speaks boundary version 0.0"),
                             HasSubstr("this Assay speaks 0.1"))));
}

TEST(OtherTimes, AnotherMajorIsNamedWithBothVersions) {
  EXPECT_THAT(Library::open(kPlugins / "other_major.so"),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("boundary version 1"), HasSubstr("speaks version 0.1"))));
}

TEST(NoBackends, LibraryWithoutTheSymbolIsNamedAsSuch) {
  EXPECT_THAT(Library::open(kPlugins / "exports_nothing.so"),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("exports no backend")));
}

TEST(NoBackends, LibraryThatNeedsWhatIsNotThereNamesIt) {
  EXPECT_THAT(Library::open(kPlugins / "needs_missing.so"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("from_a_missing_library")));
}

TEST(NoBackends, TruncatedLibraryIsRefusedBeforeTheLoaderTouchesIt) {
  const auto whole = read_file(kPlugins / "default_visibility.so");
  ASSERT_THAT(whole, IsOk());
  const testing::ScratchFolder scratch;
  const auto path = scratch.path() / "truncated.so";
  for (const std::size_t size : {std::size_t{4096}, std::size_t{100}, std::size_t{10}}) {
    ASSERT_THAT(write_file_atomic(path, whole->substr(0, size)), IsOk());
    const auto library = Library::open(path);
    ASSERT_FALSE(library.ok());
    EXPECT_EQ(library.status().code(),
              size > 64 ? StatusCode::kDataLoss : StatusCode::kInvalidArgument)
        << library.status().to_string();
  }
}

}  // namespace
}  // namespace assay::host
