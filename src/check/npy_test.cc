#include "check/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/testing.h"
#include "tensor/convert.h"

namespace assay::check {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

fs::path fresh_path(const std::string& name) {
  fs::path folder = fs::path(::testing::TempDir()) / ("npy " + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder / "x.npy";
}

std::string write_rows(const std::string& name, DType dtype, const Shape& row_shape,
                       std::span<const std::byte> row, int rows) {
  const fs::path path = fresh_path(name);
  Result<NpyWriter> writer = NpyWriter::open(path, dtype, row_shape);
  EXPECT_THAT(writer, IsOk());
  for (int i = 0; i < rows; ++i) EXPECT_THAT(writer->append(row), IsOk());
  EXPECT_THAT(writer->finish(), IsOk());
  return read_file(path).value();
}

std::size_t header_bytes(const std::string& file) {
  return 10U + static_cast<unsigned char>(file[8]) + 256U * static_cast<unsigned char>(file[9]);
}

TEST(Npy, HeaderIsVersionOneAlignedAndNamesDtypeAndShape) {
  const std::vector<float> row{1, 2, 3};
  const std::string file =
      write_rows("header", DType::kFloat32, {1, 3}, std::as_bytes(std::span(row)), 2);
  EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t header = header_bytes(file);
  EXPECT_EQ(header % 64, 0U);
  EXPECT_EQ(file[header - 1], '\n');
  EXPECT_THAT(file, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 3,)}"));
  ASSERT_EQ(file.size(), header + 2 * sizeof(float) * 3);
  float last = 0;
  std::memcpy(&last, file.data() + file.size() - sizeof(last), sizeof(last));
  EXPECT_EQ(last, 3.0F);
}

TEST(Npy, NoRowsAndScalarRowsAreLegal) {
  EXPECT_THAT(write_rows("empty", DType::kInt64, {4}, {}, 0), HasSubstr("'shape': (0, 4,)"));
  const std::vector<std::int64_t> one{9};
  const std::string file =
      write_rows("scalar", DType::kInt64, {}, std::as_bytes(std::span(one)), 3);
  EXPECT_THAT(file, HasSubstr("'descr': '<i8'"));
  EXPECT_THAT(file, HasSubstr("'shape': (3,)"));
}

TEST(Npy, BFloat16IsWidenedToFloat32) {
  const std::vector<std::uint16_t> row{float_to_bfloat16(1.5F)};
  const std::string file =
      write_rows("bfloat16", DType::kBFloat16, {1}, std::as_bytes(std::span(row)), 1);
  EXPECT_THAT(file, HasSubstr("'<f4'"));
  float value = 0;
  std::memcpy(&value, file.data() + header_bytes(file), sizeof(value));
  EXPECT_EQ(value, 1.5F);
}

TEST(Npy, WrongRowSizeAndUnnamedDtypeAreRefused) {
  Result<NpyWriter> writer = NpyWriter::open(fresh_path("refused"), DType::kFloat32, {2});
  EXPECT_THAT(writer->append(std::vector<std::byte>(7)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("7 bytes, 8 are wanted")));
  EXPECT_THAT(NpyWriter::open(fresh_path("fp8"), DType::kFloat8E4M3, {2}),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("FP8")));
}

TEST(Npy, NothingIsLeftWithoutFinish) {
  const fs::path path = fresh_path("unfinished");
  {
    EXPECT_THAT(NpyWriter::open(path, DType::kFloat32, {2}), IsOk());
  }
  EXPECT_TRUE(fs::is_empty(path.parent_path()));
}

}  // namespace
}  // namespace assay::check
