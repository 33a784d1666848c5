#include "dataset/array_file.h"

#include <gmock/gmock.h>

#include "base/testing.h"

namespace assay::dataset {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;  // NOLINT: literals with zero bytes

std::string npy(std::string_view dict, std::string_view data = "") {
  std::string header(dict);
  header += '\n';
  std::string text = "\x93NUMPY\x01"s + '\0';
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  return text + header + std::string(data);
}

Result<ArrayHeader> idx_header(std::string bytes) {
  return read_idx_header(*open_memory("f.idx", std::move(bytes)));
}
Result<ArrayHeader> npy_header(std::string bytes) {
  return read_npy_header(*open_memory("f.npy", std::move(bytes)));
}

Result<ArrayFile> unpack(ArrayHeader header, std::string bytes) {
  const auto stream = open_memory("f", std::move(bytes));
  return ArrayFile::unpack(std::move(header), *stream, ::testing::TempDir(), [](auto) {});
}

TEST(IdxHeader, ReadsSizesMostSignificantByteFirst) {
  const auto header = idx_header("\0\0\x08\x02\0\0\x01\x02\0\0\0\x1C"s);
  ASSERT_THAT(header, IsOk());
  EXPECT_EQ(header->dtype, DType::kUInt8);
  EXPECT_THAT(header->shape, ElementsAre(258, 28));
}

TEST(IdxHeader, RefusesWhatIsNoIdxFile) {
  EXPECT_THAT(idx_header("PK\x03\x04"s), StatusIs(StatusCode::kDataLoss, HasSubstr("not an IDX")));
  EXPECT_THAT(idx_header("\0\0\x08\0"s), StatusIs(StatusCode::kDataLoss, HasSubstr("not an IDX")));
  EXPECT_THAT(idx_header("\0\0\x0D\x01\0\0\0\x01"s),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("0x0d")));
  EXPECT_THAT(idx_header("\0\0\x08\x02\0\0\0\x01\0\0"s),
              StatusIs(StatusCode::kDataLoss, HasSubstr("f.idx ends early")));
}

TEST(NpyHeader, ReadsTypeOrderAndShape) {
  const auto header =
      npy_header(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  "));
  ASSERT_THAT(header, IsOk());
  EXPECT_EQ(header->dtype, DType::kFloat32);
  EXPECT_FALSE(header->columns_first);
  EXPECT_THAT(header->shape, ElementsAre(3, 4));
}

TEST(NpyHeader, ReadsKeysInAnyOrderAndOneElementTuples) {
  const auto header = npy_header(npy("{'shape': (7,), 'fortran_order': True, 'descr': '|u1'}"));
  ASSERT_THAT(header, IsOk());
  EXPECT_EQ(header->dtype, DType::kUInt8);
  EXPECT_TRUE(header->columns_first);
  EXPECT_THAT(header->shape, ElementsAre(7));
}

TEST(NpyHeader, RefusesEveryOtherText) {
  for (const std::string_view dict :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"}) {
    EXPECT_THAT(npy_header(npy(dict)), StatusIs(StatusCode::kDataLoss, HasSubstr("not an .npy")))
        << dict;
  }
}

TEST(NpyHeader, NamesATypeThatIsNotRead) {
  EXPECT_THAT(npy_header(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}")),
              StatusIs(StatusCode::kUnimplemented, HasSubstr(">f4")));
}

TEST(NpyHeader, RefusesTruncationAnywhere) {
  const std::string whole = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(npy_header(whole.substr(0, length)).ok()) << length;
  }
}

TEST(ArrayFile, ReadsRowsOfCOrder) {
  const auto array = unpack({DType::kUInt8, {3, 2}, false}, "abcdef");
  ASSERT_THAT(array, IsOk());
  ASSERT_EQ(array->row_bytes(), 2U);
  std::array<std::byte, 2> row{};
  EXPECT_THAT(array->read_row(2, row), IsOk());
  EXPECT_THAT(row, ElementsAre(std::byte{'e'}, std::byte{'f'}));
}

TEST(ArrayFile, ReadsRowsOfFortranOrder) {
  const auto array = unpack({DType::kUInt8, {3, 2}, true}, "acebdf");
  ASSERT_THAT(array, IsOk());
  std::array<std::byte, 2> row{};
  EXPECT_THAT(array->read_row(1, row), IsOk());
  EXPECT_THAT(row, ElementsAre(std::byte{'c'}, std::byte{'d'}));
}

TEST(ArrayFile, TooFewAndTooManyBytesAreErrors) {
  EXPECT_THAT(unpack({DType::kUInt8, {3, 2}, false}, "abcde"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("ends early: 5 of 6")));
  EXPECT_THAT(unpack({DType::kUInt8, {3, 2}, false}, "abcdefg"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("more bytes than its header says")));
  EXPECT_THAT(unpack({DType::kFloat64, {1LL << 60, 1LL << 60}, false}, ""),
              StatusIs(StatusCode::kOutOfRange, ::testing::_));
}

}  // namespace
}  // namespace assay::dataset
