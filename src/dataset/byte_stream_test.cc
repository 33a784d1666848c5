#include "dataset/byte_stream.h"

#include <gmock/gmock.h>
#include <zip.h>
#include <zlib.h>

#include <array>
#include <filesystem>

#include "base/file.h"
#include "base/testing.h"

namespace assay::dataset {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

fs::path temp_file(const std::string& name) { return fs::path(::testing::TempDir()) / name; }

fs::path write_gzip(const std::string& name, const std::string& content) {
  const fs::path path = temp_file(name);
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  return path;
}

fs::path write_zip(const std::string& name, const std::string& member, const std::string& content) {
  const fs::path path = temp_file(name);
  fs::remove(path);
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
  zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
  EXPECT_GE(zip_file_add(archive, member.c_str(), source, 0), 0);
  EXPECT_EQ(zip_close(archive), 0);
  return path;
}

Result<std::string> read_all(Result<std::unique_ptr<ByteStream>> opened) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, std::move(opened));
  std::string content;
  std::array<char, 1000> chunk{};
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t count,
                     stream->read(std::as_writable_bytes(std::span(chunk))));
    if (count == 0) return content;
    content.append(chunk.data(), count);
  }
}

// Compresses badly, so that damage anywhere hits data.
std::string noise_text() {
  std::string text;
  std::uint32_t state = 1;
  for (int i = 0; i < 5000; ++i) {
    state = state * 1664525U + 1013904223U;
    text += static_cast<char>(state >> 24);
  }
  return text;
}

void flip_byte(const fs::path& path, std::size_t at) {
  std::string bytes = read_file(path).value();
  bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
  ASSERT_THAT(write_file_atomic(path, bytes), IsOk());
}

TEST(Gzip, GivesTheContentBack) {
  EXPECT_EQ(read_all(open_gzip(write_gzip("whole.gz", noise_text()))).value(), noise_text());
}

TEST(Gzip, ReadsAPlainFileAsItIs) {
  const fs::path path = temp_file("plain");
  ASSERT_THAT(write_file_atomic(path, "plain text"), IsOk());
  EXPECT_EQ(read_all(open_gzip(path)).value(), "plain text");
}

TEST(Gzip, TruncationAndDamageNameTheFile) {
  const fs::path cut = write_gzip("cut.gz", noise_text());
  fs::resize_file(cut, fs::file_size(cut) / 2);
  EXPECT_THAT(read_all(open_gzip(cut)), StatusIs(StatusCode::kDataLoss, HasSubstr("cut.gz")));
  const fs::path damaged = write_gzip("damaged.gz", noise_text());
  flip_byte(damaged, fs::file_size(damaged) - 6);  // the checksum
  EXPECT_THAT(read_all(open_gzip(damaged)),
              StatusIs(StatusCode::kDataLoss, HasSubstr("damaged.gz\" is corrupt")));
}

TEST(Gzip, AMissingFileIsNotFound) {
  EXPECT_THAT(open_gzip(temp_file("none.gz")),
              StatusIs(StatusCode::kNotFound, HasSubstr("none.gz")));
}

TEST(ZipMember, GivesTheContentBack) {
  EXPECT_EQ(read_all(open_zip_member(write_zip("a.zip", "x.npy", noise_text()), "x.npy")).value(),
            noise_text());
}

TEST(ZipMember, NamesWhatIsMissing) {
  const fs::path path = write_zip("b.zip", "x.npy", "content");
  EXPECT_THAT(open_zip_member(path, "y.npy"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no readable member \"y.npy\"")));
  EXPECT_THAT(open_zip_member(temp_file("none.zip"), "x"),
              StatusIs(StatusCode::kNotFound, HasSubstr("none.zip")));
}

TEST(ZipMember, TruncationAndDamageNameTheFile) {
  const fs::path cut = write_zip("cut.zip", "x.npy", noise_text());
  fs::resize_file(cut, fs::file_size(cut) / 2);
  EXPECT_THAT(open_zip_member(cut, "x.npy"), StatusIs(StatusCode::kDataLoss, HasSubstr("cut.zip")));
  const fs::path damaged = write_zip("damaged.zip", "x.npy", noise_text());
  flip_byte(damaged, 2000);
  EXPECT_THAT(read_all(open_zip_member(damaged, "x.npy")),
              StatusIs(StatusCode::kDataLoss, HasSubstr("damaged.zip\":x.npy is corrupt")));
}

}  // namespace
}  // namespace assay::dataset
