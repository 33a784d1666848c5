#include "controller/typed_object.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/testing.h"

namespace assay::controller {
namespace {

const std::string kWhat = "the worker's answer to measure";

TEST(TypedObject, GivesWhatHasTheRightType) {
  const Json json{{"i", -3}, {"c", 7}, {"x", 1.5}, {"f", true}, {"t", "text"}, {"l", {1, 2}}};
  const TypedObject object(json, kWhat);
  EXPECT_EQ(*object.integer("i"), -3);
  EXPECT_EQ(*object.count("c"), 7U);
  EXPECT_EQ(*object.number("x"), 1.5);
  EXPECT_TRUE(*object.flag("f"));
  EXPECT_EQ(*object.text("t"), "text");
  EXPECT_EQ(*object.integers("l"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(object.has("i"));
  EXPECT_FALSE(object.has("absent"));
}

TEST(TypedObject, EveryOtherTypeIsDataLossThatNamesTheMember) {
  for (const Json& wrong :
       {Json(), Json("7"), Json(1.5), Json(-1), Json::array({"a"}), Json::object(), Json(true)}) {
    const Json json{{"n", wrong}};
    const Status status = TypedObject(json, kWhat).count("n").status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << wrong;
    EXPECT_NE(status.message().find("measure: \"n\""), std::string::npos) << status.message();
  }
  const Json json{{"n", "7"}, {"big", std::numeric_limits<std::uint64_t>::max()}, {"l", {1, "b"}}};
  const TypedObject object(json, kWhat);
  EXPECT_EQ(object.integer("n").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(object.integer("big").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(object.integers("l").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(object.flag("n").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(object.text("absent").status().code(), StatusCode::kDataLoss);
}

TEST(TypedObject, WhatIsNoObjectHasNoMembers) {
  const Json list = Json::array({1});
  const TypedObject object(list, kWhat);
  EXPECT_FALSE(object.has("n"));
  EXPECT_EQ(object.count("n").status().code(), StatusCode::kDataLoss);
}

TEST(TypedObject, MembersOfListsAndObjectsAreNamed) {
  const Json json{{"kept", {{{"slot", 1}}, {{"slot", "x"}}}}, {"inner", {{"n", 1}}}};
  const TypedObject object(json, kWhat);
  const auto members = object.list("kept");
  ASSERT_TRUE(members.ok());
  EXPECT_EQ(*(*members)[0].count("slot"), 1U);
  const Status status = (*members)[1].count("slot").status();
  EXPECT_NE(status.message().find("kept[1]: \"slot\" is \"x\""), std::string::npos)
      << status.message();
  EXPECT_EQ(*object.object("inner")->integer("n"), 1);
}

TEST(GuardJson, ExceptionsOfTheLibraryBecomeDataLoss) {
  const Status status = guard_json([]() -> Status {
    (void)Json("text").get<int>();
    return ok_status();
  });
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_TRUE(guard_json([] { return ok_status(); }).ok());
}

}  // namespace
}  // namespace assay::controller
