#include "drill/drill.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/testing.h"
#include "drill/job.h"
#include "drill/resources.h"

namespace assay::drill {
namespace {

using assay::testing::StatusIs;
using ::testing::HasSubstr;

TEST(Drill, UnknownNameIsNotFound) {
  EXPECT_THAT(run_drill("dance", {}, Json::object()),
              StatusIs(StatusCode::kNotFound, HasSubstr("\"dance\"")));
}

TEST(Drill, OfABackendNeedsOneThatIsOpen) {
  EXPECT_THAT(run_drill("answers_right", {}, Json::object()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no backend is open")));
}

TEST(Job, CrossesAsJson) {
  Job job;
  job.load.configs = "{}";
  job.load.batch_size = 7;
  job.load.artifact_folder = "a b/ä";
  job.batched = true;
  const auto back = job_from_json(to_json(job));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->load.batch_size, 7);
  EXPECT_EQ(back->load.artifact_folder, "a b/ä");
  EXPECT_TRUE(back->batched);
}

TEST(Job, WithoutAMemberIsDataLossThatNamesIt) {
  Json json = to_json(Job());
  json.erase("batch_size");
  EXPECT_THAT(job_from_json(json), StatusIs(StatusCode::kDataLoss, HasSubstr("batch_size")));
}

TEST(Resources, GrowthNamesWhatIsMore) {
  const Resources before{.descriptors = {"/a", "socket"}, .threads = 2, .children = 0};
  const Resources after{
      .descriptors = {"/a", "/dev/x", "socket", "socket"}, .threads = 3, .children = 1};
  EXPECT_EQ(growth(before, before), "");
  EXPECT_EQ(growth(after, before), "");
  EXPECT_EQ(growth(before, after),
            "a descriptor of /dev/x; a descriptor of socket; threads: 1 more; child processes: 1 "
            "more");
}

}  // namespace
}  // namespace assay::drill
