// What goes over the wire and what comes back, without a wire. Expectations are worked out by hand
// from the protocol's text and from IEEE 754.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "answer.h"
#include "element.h"
#include "options.h"
#include "request.h"
#include "signature.h"

namespace kserve {
namespace {

using assay::backend::DType;
using assay::backend::Error;
using assay::backend::TensorSpec;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The message of the Error that `call` throws, with its code in front.
template <typename Call>
std::string failure(const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    return std::to_string(e.code()) + ": " + e.what();
  }
  return "no failure";
}

const std::string kDataLoss = std::to_string(ASSAY_DATA_LOSS) + ": ";
const std::string kInvalid = std::to_string(ASSAY_INVALID_ARGUMENT) + ": ";

Answer parsed(const std::string& body) { return parse_answer(body, std::nullopt, {}); }

std::string answer_of(const std::string& datatype, const std::string& shape,
                      const std::string& data) {
  return R"({"model_name":"m","id":"1","outputs":[{"name":"y","datatype":")" + datatype +
         R"(","shape":)" + shape + R"(,"data":)" + data + "}]}";
}

// Elements of the one output "y", as T.
template <typename T>
std::vector<T> values(DType dtype, const std::string& datatype, const std::string& data) {
  const Answer answer = parsed(answer_of(datatype, "[" + std::to_string(4) + "]", data));
  std::vector<T> out(4);
  copy_output(matching_output(answer, {"y", dtype, {-1}}), dtype, out.data());
  return out;
}

// ---- numbers ------------------------------------------------------------------------------------

TEST(KserveNumbers, IntegersBeyondTheDoublesAreExact) {
  EXPECT_THAT(
      values<std::int64_t>(DType::kInt64, "INT64",
                           "[9007199254740993,-9007199254740993,9223372036854775807,"
                           "-9223372036854775808]"),
      ElementsAre(9007199254740993, -9007199254740993, std::numeric_limits<std::int64_t>::max(),
                  std::numeric_limits<std::int64_t>::min()));
  EXPECT_THAT(values<std::uint64_t>(DType::kUInt64, "UINT64",
                                    "[18446744073709551615,9223372036854775808,0,1]"),
              ElementsAre(18446744073709551615U, 9223372036854775808U, 0U, 1U));
}

TEST(KserveNumbers, IntegersWrittenAsFloatsAreTakenWhileTheyAreExact) {
  EXPECT_THAT(values<std::int32_t>(DType::kInt32, "INT32", "[1.0,-2.0,3e2,0.0]"),
              ElementsAre(1, -2, 300, 0));
  for (const char* wrong : {"9007199254740993.0", "1.5", "1e300"}) {
    EXPECT_THAT(failure([&] {
                  values<std::int64_t>(DType::kInt64, "INT64",
                                       std::string("[0,0,0,") + wrong + "]");
                }),
                AllOf(HasSubstr(kDataLoss), HasSubstr("element 3"), HasSubstr("integer")))
        << wrong;
  }
}

TEST(KserveNumbers, IntegersOutsideTheTypeAreRefused) {
  EXPECT_THAT(values<std::int8_t>(DType::kInt8, "INT8", "[-128,127,0,1]"),
              ElementsAre(-128, 127, 0, 1));
  for (const char* wrong : {"128", "-129", "18446744073709551615"}) {
    EXPECT_THAT(failure([&] {
                  values<std::int8_t>(DType::kInt8, "INT8", std::string("[") + wrong + ",0,0,0]");
                }),
                HasSubstr("outside the range"))
        << wrong;
  }
}

// 7.038531e-26 is a decimal that double rounding takes to another float than it is nearest to.
TEST(KserveNumbers, FloatsAreRoundedOnce) {
  const auto read = values<float>(DType::kFloat32, "FP32", "[7.038531e-26,0.1,1,16777217]");
  EXPECT_EQ(read[0], 7.038531e-26F);
  EXPECT_EQ(read[1], 0.1F);
  EXPECT_EQ(read[2], 1.0F);
  EXPECT_EQ(read[3], 16777216.0F);
  // Halfway between 1 and its successor, and a little more: past the double nearest to it.
  EXPECT_EQ(values<float>(DType::kFloat32, "FP32", "[1.000000059604644775390625001,0,0,0]")[0],
            std::nextafter(1.0F, 2.0F));
}

TEST(KserveNumbers, HalvesRoundToEvenAndOverflowToInfinity) {
  EXPECT_THAT(
      values<std::uint16_t>(DType::kFloat16, "FP16", "[1.0,65504,5.960464477539063e-08,65520]"),
      ElementsAre(0x3C00, 0x7BFF, 0x0001, 0x7C00));
  EXPECT_THAT(values<std::uint16_t>(DType::kFloat16, "FP16",
                                    "[1.00048828125,1.00146484375,-0.0,6.103515625e-05]"),
              ElementsAre(0x3C00, 0x3C02, 0x8000, 0x0400));
  EXPECT_THAT(values<std::uint16_t>(DType::kBFloat16, "BF16", "[1.0,-2.0,1.00390625,3.140625]"),
              ElementsAre(0x3F80, 0xC000, 0x3F80, 0x4049));
}

TEST(KserveNumbers, TextsForNonFiniteValuesAreTaken) {
  const auto read =
      values<double>(DType::kFloat64, "FP64", R"(["NaN","Infinity","-Infinity","-inf"])");
  EXPECT_TRUE(std::isnan(read[0]));
  EXPECT_EQ(read[1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(read[2], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read[3], -std::numeric_limits<double>::infinity());
  EXPECT_THAT(failure([] { values<float>(DType::kFloat32, "FP32", R"(["1.0",0,0,0])"); }),
              HasSubstr("a text"));
}

TEST(KserveNumbers, NullIsALostValueAndNeverZero) {
  EXPECT_THAT(failure([] { values<float>(DType::kFloat32, "FP32", "[0,null,0,0]"); }),
              AllOf(HasSubstr(kDataLoss), HasSubstr("\"y\", element 1"), HasSubstr("lost")));
  EXPECT_THAT(failure([] { values<float>(DType::kFloat32, "FP32", "[0,NaN,0,0]"); }),
              AllOf(HasSubstr(kDataLoss), HasSubstr("bare NaN"), HasSubstr("lost")));
}

TEST(KserveNumbers, BooleansAreTrueFalseOneAndZero) {
  EXPECT_THAT(values<std::uint8_t>(DType::kBool, "BOOL", "[true,false,1,0]"),
              ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(failure([] { values<std::uint8_t>(DType::kBool, "BOOL", "[2,0,0,0]"); }),
              HasSubstr("neither"));
  EXPECT_THAT(failure([] { values<float>(DType::kFloat32, "FP32", "[true,0,0,0]"); }),
              HasSubstr("not a number"));
}

// ---- answers ------------------------------------------------------------------------------------

TEST(KserveAnswer, DataMayBeFlatOrNested) {
  for (const char* data : {"[1,2,3,4]", "[[1,2],[3,4]]", "[[[1],[2]],[[3],[4]]]"}) {
    const Answer answer = parsed(answer_of("FP32", "[2,2]", data));
    std::vector<float> out(4);
    copy_output(matching_output(answer, {"y", DType::kFloat32, {-1, 2}}), DType::kFloat32,
                out.data());
    EXPECT_THAT(out, ElementsAre(1, 2, 3, 4)) << data;
  }
}

TEST(KserveAnswer, KeysMayComeInAnyOrderAndUnknownOnesAreSkipped) {
  const Answer answer = parsed(
      R"({"x":{"outputs":[{"data":[1]}]},"outputs":[{"data":[7],"shape":[1],"parameters":{"a":{"binary_data_size":9}},)"
      R"("datatype":"INT32","name":"y"}],"id":"9"})");
  EXPECT_EQ(answer.id, "9");
  ASSERT_EQ(answer.outputs.size(), 1U);
  EXPECT_FALSE(answer.outputs[0].binary_size.has_value());
  EXPECT_EQ(matching_output(answer, {"y", DType::kInt32, {1}}).numbers[0].integer, 7);
}

TEST(KserveAnswer, BytesFollowInTheOrderOfTheOutputs) {
  const std::string json =
      R"({"outputs":[{"name":"b","datatype":"UINT8","shape":[2],"parameters":{"binary_data_size":2}},)"
      R"({"name":"n","datatype":"INT32","shape":[1],"data":[5]},)"
      R"({"name":"a","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}]})";
  const std::string body = json + std::string("\x01\x02\x00\x00\x80\x3F", 6);
  const Answer answer = parse_answer(body, json.size(), {});
  float a = 0;
  copy_output(matching_output(answer, {"a", DType::kFloat32, {1}}), DType::kFloat32, &a);
  EXPECT_EQ(a, 1.0F);
  EXPECT_EQ(matching_output(answer, {"b", DType::kUInt8, {2}}).bytes, "\x01\x02");
  for (const std::size_t cut : {1U, 4U, 6U}) {
    const std::string shorter = body.substr(0, body.size() - cut);
    EXPECT_THAT(failure([&] { parse_answer(shorter, json.size(), {}); }),
                AllOf(HasSubstr(kDataLoss), HasSubstr("ends inside output")));
  }
  EXPECT_THAT(failure([&] { parse_answer(body + "x", json.size(), {}); }),
              HasSubstr("1 bytes after the last"));
  EXPECT_THAT(failure([&] { parse_answer(body, body.size() + 1, {}); }), HasSubstr("fewer than"));
}

TEST(KserveAnswer, MismatchesNameBothSides) {
  const Answer answer = parsed(answer_of("FP32", "[1,3]", "[1,2,3]"));
  EXPECT_THAT(failure([&] { matching_output(answer, {"z", DType::kFloat32, {1, 3}}); }),
              HasSubstr("no output \"z\""));
  EXPECT_THAT(failure([&] { matching_output(answer, {"y", DType::kFloat64, {1, 3}}); }),
              AllOf(HasSubstr("FP32 [1,3]"), HasSubstr("FP64 [1,3]")));
  EXPECT_THAT(failure([&] { matching_output(answer, {"y", DType::kFloat32, {1, 4}}); }),
              AllOf(HasSubstr("[1,3]"), HasSubstr("[1,4]")));
  EXPECT_THAT(failure([&] { matching_output(answer, {"y", DType::kFloat32, {3}}); }),
              HasSubstr("[3]"));
}

TEST(KserveAnswer, SizesThatContradictTheShapeAreRefused) {
  const TensorSpec spec{"y", DType::kFloat32, {-1, -1}};
  for (const char* shape : {"[2,2]", "[4294967296,4294967296]", "[0,3]"}) {
    const Answer answer = parsed(answer_of("FP32", shape, "[1,2,3]"));
    EXPECT_THAT(failure([&] { matching_output(answer, spec); }), HasSubstr("with 3 values"))
        << shape;
  }
  const std::string json =
      R"({"outputs":[{"name":"y","datatype":"FP32","shape":[1,1],"parameters":{"binary_data_size":3}}]})";
  const std::string body = json + "abc";
  const Answer bytes = parse_answer(body, json.size(), {});
  EXPECT_THAT(failure([&] { matching_output(bytes, spec); }), HasSubstr("3 bytes of FP32"));
}

TEST(KserveAnswer, WhatIsNoAnswerIsRefused) {
  for (const char* body :
       {"", "{", "[]", "null", "7", "\"x\"", "<html>", "{\"outputs\":[{\"data\":[1,2",
        "{\"outputs\":[{\"shape\":[-1]}]}", "{\"outputs\":[{\"data\":[{}]}]}", "{\"id\":\"\xFF\"}",
        "{\"outputs\":[{\"parameters\":{\"binary_data_size\":-4}}]}"}) {
    EXPECT_THAT(failure([&] { parsed(body); }), HasSubstr(kDataLoss)) << body;
  }
}

TEST(KserveAnswer, NothingGrowsBeyondItsLimit) {
  AnswerLimits limits;
  limits.values = 3;
  limits.tensors = 1;
  const std::string four = answer_of("FP32", "[4]", "[1,2,3,4]");
  EXPECT_THAT(failure([&] { parse_answer(four, std::nullopt, limits); }),
              HasSubstr("more than the 3 values"));
  EXPECT_THAT(failure([&] { parse_answer(R"({"outputs":[{},{}]})", std::nullopt, limits); }),
              HasSubstr("more than 1 outputs"));
  EXPECT_THAT(failure([] { parsed(std::string(100000, '[')); }), HasSubstr("a list"));
  EXPECT_THAT(failure([] { parsed("{\"a\":" + std::string(100000, '[')); }),
              HasSubstr("too deeply"));
}

// ---- requests -----------------------------------------------------------------------------------

template <typename T>
assay_tensor tensor(const char* name, DType dtype, const std::vector<std::int64_t>& shape,
                    std::vector<T>& elements) {
  assay_tensor made{};
  made.name = name;
  made.dtype = static_cast<std::uint32_t>(dtype);
  made.rank = static_cast<std::uint32_t>(shape.size());
  made.shape = shape.data();
  made.size_bytes = elements.size() * sizeof(T);
  made.data = elements.data();
  return made;
}

TEST(KserveRequest, JsonHasEveryNumberInTheShortestExactForm) {
  std::vector<float> floats = {0.1F, -0.0F, 16777216.0F};
  std::vector<std::int64_t> integers = {9007199254740993};
  std::vector<std::uint8_t> booleans = {1, 0};
  std::vector<std::uint16_t> halves = {0x3C00, 0xC000, 0x0001};
  const std::vector<std::int64_t> three = {3};
  const std::vector<std::int64_t> one = {1};
  const std::vector<std::int64_t> row = {1, 2};
  const std::vector<assay_tensor> inputs = {
      tensor("a\"b", DType::kFloat32, three, floats), tensor("i", DType::kInt64, one, integers),
      tensor("t", DType::kBool, row, booleans), tensor("h", DType::kFloat16, three, halves)};
  const InferRequest request = build_request("id-1", inputs.data(), inputs.size(),
                                             {{"y", DType::kFloat32, {-1}}}, Transport::kJson);
  EXPECT_FALSE(request.header_length.has_value());
  EXPECT_EQ(
      request.body,
      R"({"id":"id-1","inputs":[{"name":"a\"b","shape":[3],"datatype":"FP32","data":[0.1,-0,16777216]},)"
      R"({"name":"i","shape":[1],"datatype":"INT64","data":[9007199254740993]},)"
      R"({"name":"t","shape":[1,2],"datatype":"BOOL","data":[true,false]},)"
      R"({"name":"h","shape":[3],"datatype":"FP16","data":[1,-2,5.9604645e-08]}],)"
      R"("outputs":[{"name":"y"}]})");
}

// A dtype of the protocol, two elements as JSON and as little-endian bytes.
struct Wire {
  DType dtype;
  const char* name;
  const char* json;
  std::string bytes;
};

std::vector<Wire> wires() {
  using namespace std::string_literals;
  return {
      {DType::kFloat64, "FP64", "1.5,-2", "\0\0\0\0\0\0\xF8\x3F\0\0\0\0\0\0\0\xC0"s},
      {DType::kFloat32, "FP32", "1.5,-2", "\0\0\xC0\x3F\0\0\0\xC0"s},
      {DType::kFloat16, "FP16", "1.5,-2", "\0\x3E\0\xC0"s},
      {DType::kInt64, "INT64", "-9223372036854775808,7", "\0\0\0\0\0\0\0\x80\x07\0\0\0\0\0\0\0"s},
      {DType::kInt32, "INT32", "-2147483648,7", "\0\0\0\x80\x07\0\0\0"s},
      {DType::kInt16, "INT16", "-32768,7", "\0\x80\x07\0"s},
      {DType::kInt8, "INT8", "-128,7", "\x80\x07"s},
      {DType::kUInt8, "UINT8", "255,7", "\xFF\x07"s},
      {DType::kBool, "BOOL", "true,false", "\x01\0"s},
      {DType::kUInt16, "UINT16", "65535,7", "\xFF\xFF\x07\0"s},
      {DType::kUInt32, "UINT32", "4294967295,7", "\xFF\xFF\xFF\xFF\x07\0\0\0"s},
      {DType::kUInt64, "UINT64", "18446744073709551615,7",
       "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x07\0\0\0\0\0\0\0"s}};
}

TEST(KserveRequest, EveryDtypeGoesInBothForms) {
  const std::vector<std::int64_t> shape = {2};
  for (const Wire& wire : wires()) {
    std::string elements = wire.bytes;
    const std::vector<char> memory(elements.begin(), elements.end());
    std::vector<char> kept = memory;
    const assay_tensor input = tensor("x", wire.dtype, shape, kept);
    const InferRequest json = build_request("1", &input, 1, {}, Transport::kJson);
    EXPECT_THAT(json.body, HasSubstr("\"datatype\":\"" + std::string(wire.name) + "\",\"data\":[" +
                                     wire.json + "]"));
    const InferRequest bytes = build_request("1", &input, 1, {}, Transport::kBinary);
    EXPECT_EQ(bytes.body.substr(*bytes.header_length), wire.bytes) << wire.name;
  }
}

TEST(KserveAnswer, EveryDtypeComesInBothForms) {
  for (const Wire& wire : wires()) {
    std::string memory(wire.bytes.size(), '\x55');
    const std::string json = answer_of(wire.name, "[2]", "[" + std::string(wire.json) + "]");
    copy_output(matching_output(parsed(json), {"y", wire.dtype, {2}}), wire.dtype, memory.data());
    EXPECT_EQ(memory, wire.bytes) << wire.name;
    const std::string header =
        R"({"model_name":"m","outputs":[{"name":"y","shape":[2],"datatype":")" +
        std::string(wire.name) + R"(","parameters":{"binary_data_size":)" +
        std::to_string(wire.bytes.size()) + "}}]}";
    memory.assign(wire.bytes.size(), '\x55');
    const std::string body = header + wire.bytes;
    const Answer answer = parse_answer(body, header.size(), {});
    copy_output(matching_output(answer, {"y", wire.dtype, {2}}), wire.dtype, memory.data());
    EXPECT_EQ(memory, wire.bytes) << wire.name;
  }
}

TEST(KserveRequest, BytesFollowTheHeader) {
  std::vector<std::int32_t> elements = {1, -1};
  const std::vector<std::int64_t> shape = {2};
  const assay_tensor input = tensor("x", DType::kInt32, shape, elements);
  const InferRequest request =
      build_request("7", &input, 1, {{"y", DType::kFloat32, {-1}}}, Transport::kBinary);
  ASSERT_TRUE(request.header_length.has_value());
  EXPECT_EQ(
      request.body.substr(0, *request.header_length),
      R"({"id":"7","inputs":[{"name":"x","shape":[2],"datatype":"INT32","parameters":{"binary_data_size":8}}],)"
      R"("outputs":[{"name":"y","parameters":{"binary_data":true}}]})");
  EXPECT_EQ(request.body.substr(*request.header_length),
            std::string("\x01\x00\x00\x00\xFF\xFF\xFF\xFF", 8));
}

TEST(KserveRequest, JsonRefusesWhatItCannotCarry) {
  std::vector<float> elements = {1, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<std::int64_t> shape = {2};
  const assay_tensor input = tensor("x", DType::kFloat32, shape, elements);
  EXPECT_THAT(failure([&] { build_request("7", &input, 1, {}, Transport::kJson); }),
              AllOf(HasSubstr(kInvalid), HasSubstr("\"x\", element 1"), HasSubstr("binary")));
}

// ---- options and signatures ---------------------------------------------------------------------

TEST(KserveOptions, UrlsAreTakenApart) {
  const Endpoint plain = parse_url("http://host");
  EXPECT_EQ(plain.host, "host");
  EXPECT_EQ(plain.port, 80);
  EXPECT_EQ(plain.prefix, "");
  const Endpoint whole = parse_url("http://[::1]:8080/a/b/");
  EXPECT_EQ(whole.host, "::1");
  EXPECT_EQ(whole.port, 8080);
  EXPECT_EQ(whole.prefix, "/a/b");
  for (const char* wrong :
       {"host:80", "https://host", "http://", "http://user@host", "http://h:0", "http://h:65536",
        "http://h:x", "http://h/a?b", "http://h/a b", "http://h/\r\nX: y"}) {
    EXPECT_THAT(failure([&] { parse_url(wrong); }),
                AllOf(HasSubstr(kInvalid), HasSubstr("option url")))
        << wrong;
  }
}

TEST(KserveOptions, NamesAreEncodedInPaths) {
  Options options;
  options.model = "a b/../c";
  options.version = "1";
  EXPECT_EQ(model_path(options), "/v2/models/a%20b%2F..%2Fc/versions/1");
}

TEST(KserveSignature, ContradictionsNameBothSides) {
  const assay::backend::Signature server = {{{"x", DType::kFloat32, {-1, 3}}},
                                            {{"y", DType::kFloat32, {-1, 2}}}};
  const auto against = [&](const char* info) {
    return failure([&] { agreed_signature(server, Json::parse(info)); });
  };
  EXPECT_EQ(
      against(R"({"inputs":"x","input_type":"FLOAT32","input_shape":{"x":[1,3]},"outputs":"y"})"),
      "no failure");
  EXPECT_THAT(against(R"({"inputs":"z"})"), AllOf(HasSubstr("\"x\""), HasSubstr("\"z\"")));
  EXPECT_THAT(against(R"({"inputs":["x"],"input_type":["INT8"]})"),
              AllOf(HasSubstr("FLOAT32"), HasSubstr("INT8")));
  EXPECT_THAT(against(R"({"inputs":"x","input_shape":{"x":[1,4]}})"),
              AllOf(HasSubstr("[-1,3]"), HasSubstr("[1,4]")));
  EXPECT_THAT(against(R"({"inputs":"x, w"})"), HasSubstr("\"w\""));
  EXPECT_THAT(against(R"({"outputs":"q"})"), AllOf(HasSubstr("\"y\""), HasSubstr("\"q\"")));
}

TEST(KserveSignature, WhatTheServerDoesNotDeclareIsTheModelInfos) {
  const auto agreed = agreed_signature(
      {}, Json::parse(R"({"inputs":"x","input_type":"INT64","input_shape":{"x":[1,3]}})"));
  ASSERT_EQ(agreed.inputs.size(), 1U);
  EXPECT_EQ(agreed.inputs[0].dtype, DType::kInt64);
  EXPECT_THAT(agreed.inputs[0].shape, ElementsAre(-1, 3));
  EXPECT_THAT(failure([] { agreed_signature({}, Json::object()); }), HasSubstr("neither"));
}

TEST(KserveSignature, TextsOfAnyLengthAreRefusedWithTheReason) {
  EXPECT_THAT(failure([] { dtype_of("BYTES", "input \"x\""); }),
              AllOf(HasSubstr("input \"x\""), HasSubstr("BYTES"), HasSubstr("any length")));
}

}  // namespace
}  // namespace kserve
