#include "host/library.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/testing.h"
#include "host/host_test_support.h"
#include "host/test_plugin.h"

namespace assay::host {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Script;

class Entry : public ::testing::Test {
 protected:
  void SetUp() override { Script::reset(); }
  static Result<Library> open() { return Library::from_entry(&Script::entry, "script"); }
};

TEST_F(Entry, WellBehavedPluginIsAccepted) {
  const auto library = open();
  ASSERT_THAT(library, IsOk());
  EXPECT_EQ(library->interface_version(), "0.1");
  EXPECT_EQ(library->extension("assay.timing/1"), nullptr);
}

TEST_F(Entry, RefusalCarriesThePluginsCodeAndText) {
  Script::get().entry_code = ASSAY_FAILED_PRECONDITION;
  EXPECT_THAT(open(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("as scripted")));
}

TEST_F(Entry, SuccessWithoutAPluginIsRefused) {
  Script::get().give_plugin = false;
  EXPECT_THAT(open(), StatusIs(StatusCode::kInternal, HasSubstr("without a plugin")));
}

TEST_F(Entry, UnstampedPluginIsRefused) {
  Script::get().plugin.struct_size = 0;
  EXPECT_THAT(open(), StatusIs(StatusCode::kInternal, HasSubstr("struct_size is 0")));
}

TEST_F(Entry, OtherMajorIsRefusedNamingBothVersions) {
  Script::get().plugin.abi_major = 7;
  EXPECT_THAT(open(), StatusIs(StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr("7.1"), HasSubstr("speaks 0.1"))));
}

TEST_F(Entry, PluginOlderThanTheOldestAcceptedIsRefused) {
  Script::get().plugin.abi_minor = ASSAY_BACKEND_ABI_MINOR_OLDEST - 1;
  Script::get().plugin.abi_minor_oldest = 0;
  EXPECT_THAT(open(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("0.0")));
}

TEST_F(Entry, NewerPluginThatStillAcceptsThisHostIsAccepted) {
  Script::get().plugin.abi_minor = ASSAY_BACKEND_ABI_MINOR + 5;
  EXPECT_THAT(open(), IsOk());
}

TEST_F(Entry, NewerPluginThatNoLongerAcceptsThisHostIsRefused) {
  Script::get().plugin.abi_minor = ASSAY_BACKEND_ABI_MINOR + 5;
  Script::get().plugin.abi_minor_oldest = ASSAY_BACKEND_ABI_MINOR + 1;
  EXPECT_THAT(open(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("0.6")));
}

TEST_F(Entry, EveryRequiredSlotIsRequired) {
  const auto refused_naming = [](const char* slot) {
    EXPECT_THAT(open(), StatusIs(StatusCode::kInternal, HasSubstr(slot)));
    Script::reset();
  };
#define ASSAY_WITHOUT(table, slot)    \
  Script::get().table.slot = nullptr; \
  refused_naming(#table "." #slot)
  ASSAY_WITHOUT(compile, create);
  ASSAY_WITHOUT(compile, destroy);
  ASSAY_WITHOUT(compile, get_traits);
  ASSAY_WITHOUT(compile, compile);
  ASSAY_WITHOUT(runtime, create);
  ASSAY_WITHOUT(runtime, destroy);
  ASSAY_WITHOUT(runtime, version);
  ASSAY_WITHOUT(runtime, load);
  ASSAY_WITHOUT(runtime, get_loaded_batch_size);
  ASSAY_WITHOUT(runtime, describe);
  ASSAY_WITHOUT(runtime, get_traits);
  ASSAY_WITHOUT(runtime, infer);
  ASSAY_WITHOUT(runtime, close);
#undef ASSAY_WITHOUT
  Script::get().plugin.compile = nullptr;
  refused_naming("compile");
  Script::get().runtime.struct_size = offsetof(assay_runtime_table, close);
  refused_naming("runtime.close");
}

TEST(File, MissingOneIsNotFound) {
  EXPECT_THAT(Library::open("/nowhere/libx.so"),
              StatusIs(StatusCode::kNotFound, HasSubstr("/nowhere/libx.so")));
}

TEST(File, TextIsNotALibrary) {
  const testing::ScratchFolder scratch;
  const auto path = scratch.path() / "not_a_library.so";
  ASSERT_THAT(write_file_atomic(path, "INPUT(-lc)\n"), IsOk());
  EXPECT_THAT(Library::open(path),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a shared library")));
}

TEST(File, FolderIsNotALibrary) {
  EXPECT_THAT(Library::open(::testing::TempDir()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("")));
}

TEST(File, EmptyOneIsNotALibrary) {
  const testing::ScratchFolder scratch;
  const auto path = scratch.path() / "empty.so";
  ASSERT_THAT(write_file_atomic(path, ""), IsOk());
  EXPECT_THAT(Library::open(path), StatusIs(StatusCode::kInvalidArgument, HasSubstr("")));
}

}  // namespace
}  // namespace assay::host
