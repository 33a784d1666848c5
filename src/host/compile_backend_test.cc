#include "host/compile_backend.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/testing.h"
#include "host/host_test_support.h"
#include "host/test_plugin.h"

namespace assay::host {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Script;

class Compiler : public ::testing::Test {
 protected:
  void SetUp() override { Script::reset(); }

  static CompileBackend make() {
    const Library library = Library::from_entry(&Script::entry, "script").value();
    return CompileBackend::create(library).value();
  }
};

class Samples : public CalibrationData {
 public:
  std::uint64_t sample_count() const override { return 2; }
  bool disjoint() const override { return false; }
  Result<std::span<const TensorView>> read(std::uint64_t first, std::uint64_t count) override {
    if (first + count > 2) return out_of_range("there are 2 samples");
    views_ = {tensor_.view()};
    return std::span<const TensorView>(views_);
  }

 private:
  Tensor tensor_ = testing::tensor_of<float>("x", DType::kFloat32, {2}, {5, 6});
  std::vector<TensorView> views_;
};

TEST_F(Compiler, LivesFromCreateToDestroy) {
  {
    const CompileBackend compiler = make();
  }
  EXPECT_THAT(Script::get().calls, ElementsAre("create", "destroy"));
}

TEST_F(Compiler, FailedCreateCarriesTheBackendsCodeAndText) {
  const Library library = Library::from_entry(&Script::entry, "script").value();
  Script::get().code = ASSAY_UNAVAILABLE;
  EXPECT_THAT(CompileBackend::create(library),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("script"), HasSubstr("create"), HasSubstr("as scripted"))));
}

TEST_F(Compiler, TraitsAreRead) {
  const auto traits = make().traits();
  ASSERT_THAT(traits, IsOk());
  EXPECT_EQ(traits->hardware_type, "SCRIPT");
  EXPECT_TRUE(traits->need_quant);
  EXPECT_FALSE(traits->need_reload);
}

TEST_F(Compiler, ProfileInPiecesIsJoined) {
  Script::get().text = R"([{"name": "precision"}])";
  EXPECT_EQ(make().get_interact_profile("{}").value(), Script::get().text);
}

TEST_F(Compiler, AbsentOptionalSlotsMeanNothingToSay) {
  Script::get().compile.get_interact_profile = nullptr;
  Script::get().compile.pre_optimize = nullptr;
  Script::get().compile.get_best_batch_size = nullptr;
  CompileBackend compiler = make();
  EXPECT_EQ(compiler.get_interact_profile("{}").value(), "");
  EXPECT_EQ(compiler.pre_optimize("{}", "/tmp").value(), std::nullopt);
  EXPECT_EQ(compiler.get_best_batch_size().value(), std::nullopt);
}

TEST_F(Compiler, SlotsBeyondAnOldPluginsTableAreNotCalled) {
  Script::get().compile.struct_size = offsetof(assay_compile_table, pre_optimize);
  EXPECT_EQ(make().pre_optimize("{}", "/tmp").value(), std::nullopt);
  EXPECT_THAT(Script::get().calls, ElementsAre("create", "destroy"));
}

TEST_F(Compiler, PreOptimizeThatWritesNothingKeepsTheConfigs) {
  CompileBackend compiler = make();
  EXPECT_EQ(compiler.pre_optimize("{}", "/tmp").value(), std::nullopt);
  Script::get().text = "{\"model_info\":{}}";
  EXPECT_EQ(compiler.pre_optimize("{}", "/tmp").value(), Script::get().text);
}

TEST_F(Compiler, BestBatchSizesReplaceOrKeep) {
  CompileBackend compiler = make();
  EXPECT_EQ(compiler.get_best_batch_size().value(), std::nullopt);
  Script::get().write_batch_sizes = true;
  Script::get().batch_sizes = {1, 8};
  EXPECT_THAT(*compiler.get_best_batch_size().value(), ElementsAre(1, 8));
}

TEST_F(Compiler, BestBatchSizesThatAreNoneAreTheBackendsError) {
  Script::get().write_batch_sizes = true;
  EXPECT_THAT(make().get_best_batch_size(), StatusIs(StatusCode::kInternal, HasSubstr("[]")));
  Script::get().batch_sizes = {4, 0};
  EXPECT_THAT(make().get_best_batch_size(), StatusIs(StatusCode::kInternal, HasSubstr("[4,0]")));
}

TEST_F(Compiler, CompileGetsConfigsFolderSamplesAndHeartbeat) {
  Script::get().text = "{\"model\":\"m\"}";
  Script::get().on_compile = [](const assay_compile_request& request, assay_error* error) {
    EXPECT_STREQ(request.configs->options[0].name, "workload.model");
    EXPECT_STREQ(request.configs->options[0].value, "m");
    EXPECT_STREQ(request.artifact_folder.data, "/somewhere");
    EXPECT_EQ(request.loader->sample_count, 2U);
    EXPECT_EQ(request.loader->disjoint, 0U);
    const assay_tensor* tensors = nullptr;
    std::uint64_t count = 0;
    EXPECT_EQ(request.loader->read(request.loader->context, 0, 2, &tensors, &count, error),
              ASSAY_OK);
    ASSERT_EQ(count, 1U);
    EXPECT_EQ(static_cast<const float*>(tensors[0].data)[1], 6.0F);
    EXPECT_EQ(request.loader->read(request.loader->context, 2, 1, &tensors, &count, error),
              ASSAY_OUT_OF_RANGE);
    EXPECT_STREQ(error->message, "there are 2 samples");
    EXPECT_EQ(request.progress(request.progress_context, 0.5, "half"), 0U);
    EXPECT_EQ(request.progress(request.progress_context, 0.9, "nearly"), 1U);
  };
  std::vector<std::string> stages;
  Samples samples;
  const auto result = make().compile({R"({"workload": {"model": "m"}})", "/somewhere",
                                      [&](double done, std::string_view stage) {
                                        stages.emplace_back(stage);
                                        return done < 0.8;
                                      }},
                                     samples);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(*result, "{\"model\":\"m\"}");
  EXPECT_THAT(stages, ElementsAre("half", "nearly"));
}

TEST_F(Compiler, CompileWithoutAResultIsTheBackendsError) {
  NoData none;
  EXPECT_THAT(make().compile({"{}", "/somewhere", nullptr}, none),
              StatusIs(StatusCode::kInternal, HasSubstr("without a compile result")));
}

TEST_F(Compiler, ConfigsThatAreNotJsonNeverReachTheBackend) {
  NoData none;
  EXPECT_THAT(make().compile({"{", "/somewhere", nullptr}, none),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("JSON")));
  EXPECT_THAT(Script::get().calls, ElementsAre("create", "destroy"));
}

TEST_F(Compiler, CodeOutsideTheListIsUnknownAndNamed) {
  CompileBackend compiler = make();
  Script::get().code = 4711;
  EXPECT_THAT(compiler.get_best_batch_size(), StatusIs(StatusCode::kUnknown, HasSubstr("4711")));
}

}  // namespace
}  // namespace assay::host
