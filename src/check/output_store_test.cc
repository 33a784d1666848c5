#include "check/output_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/testing.h"
#include "check/numeric.h"
#include "check/numeric_verdict.h"
#include "check/store_format.h"

// libFuzzer gives the name. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes);

namespace assay::check {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

fs::path fresh_folder(const std::string& name) {
  fs::path folder = fs::path(::testing::TempDir()) / ("output store " + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

StoreIdentity identity() {
  return {"aa11", "bb22", "FLOAT32", "CPU onnxruntime 1.31.1", {{"data", 7}, {"weights", 1}}};
}

// A float of 3, and a byte of 5 that needs padding.
std::vector<TensorSpec> two_outputs() {
  return {{"logits", DType::kFloat32, {1, 3}}, {"mask", DType::kUInt8, {5}}};
}

std::vector<std::byte> payload(std::size_t size, std::uint64_t sample) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(sample * 31 + i);
  return bytes;
}

Status write_sample(OutputWriter& writer, std::uint64_t sample) {
  RETURN_IF_ERROR(writer.write(sample, 0, payload(12, sample)));
  return writer.write(sample, 1, payload(5, sample));
}

fs::path write_store(const std::string& name, std::uint64_t samples) {
  const fs::path path = fresh_folder(name) / "outputs.bin";
  Result<OutputWriter> writer = OutputWriter::open(path, identity(), two_outputs(), samples);
  EXPECT_THAT(writer, IsOk());
  for (std::uint64_t sample = 0; sample < samples; ++sample) {
    EXPECT_THAT(write_sample(*writer, sample), IsOk());
  }
  EXPECT_THAT(writer->finish(), IsOk());
  return path;
}

void expect_sample(OutputReader& reader, std::uint64_t sample) {
  const auto logits = reader.output(sample, 0);
  const auto mask = reader.output(sample, 1);
  ASSERT_THAT(logits, IsOk());
  ASSERT_THAT(mask, IsOk());
  EXPECT_TRUE(std::ranges::equal(*logits, payload(12, sample)));
  EXPECT_TRUE(std::ranges::equal(*mask, payload(5, sample)));
}

TEST(OutputStore, WhatIsWrittenIsReadBackWithItsIdentity) {
  const fs::path path = write_store("read back ä", 3);
  Result<OutputReader> reader = OutputReader::open(path);
  ASSERT_THAT(reader, IsOk());
  EXPECT_EQ(reader->identity(), identity());
  EXPECT_EQ(reader->outputs(), two_outputs());
  EXPECT_EQ(reader->sample_count(), 3U);
  EXPECT_EQ(reader->complete_samples(), 3U);
  for (const std::uint64_t sample : {2U, 0U, 1U}) expect_sample(*reader, sample);
}

TEST(OutputStore, SamplesMayComeInAnyOrder) {
  const fs::path path = fresh_folder("any order") / "outputs.bin";
  Result<OutputWriter> writer = OutputWriter::open(path, identity(), two_outputs(), 500);
  std::vector<std::uint64_t> order(500);
  for (std::uint64_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  for (const std::uint64_t sample : order) {
    ASSERT_THAT(writer->write(sample, 1, payload(5, sample)), IsOk());
    ASSERT_THAT(writer->write(sample, 0, payload(12, sample)), IsOk());
  }
  ASSERT_THAT(writer->finish(), IsOk());
  Result<OutputReader> reader = OutputReader::open(path);
  for (std::uint64_t sample = 0; sample < 500; ++sample) expect_sample(*reader, sample);
}

TEST(OutputStore, MissingSamplesAreCountedNamedAndStayMarked) {
  const fs::path path = fresh_folder("missing") / "outputs.bin";
  Result<OutputWriter> writer = OutputWriter::open(path, identity(), two_outputs(), 4);
  ASSERT_THAT(write_sample(*writer, 1), IsOk());
  ASSERT_THAT(writer->write(2, 0, payload(12, 2)), IsOk());
  EXPECT_EQ(writer->missing_count(), 3U);
  EXPECT_THAT(writer->missing_samples(10), ElementsAre(0, 2, 3));
  EXPECT_THAT(writer->missing_samples(2), ElementsAre(0, 2));
  ASSERT_THAT(writer->finish(), IsOk());
  Result<OutputReader> reader = OutputReader::open(path);
  EXPECT_EQ(reader->complete_samples(), 1U);
  EXPECT_FALSE(reader->has(0).value());
  EXPECT_TRUE(reader->has(1).value());
  EXPECT_FALSE(reader->has(2).value());
  EXPECT_THAT(reader->output(2, 0), IsOk());
  EXPECT_THAT(reader->output(2, 1),
              StatusIs(StatusCode::kNotFound, AllOf(HasSubstr("\"mask\""), HasSubstr("sample 2"))));
}

TEST(OutputStore, NothingAppearsBeforeFinishAndNothingIsLeftWithoutIt) {
  const fs::path folder = fresh_folder("unfinished");
  {
    Result<OutputWriter> writer =
        OutputWriter::open(folder / "outputs.bin", identity(), two_outputs(), 2);
    ASSERT_THAT(write_sample(*writer, 0), IsOk());
    EXPECT_FALSE(fs::exists(folder / "outputs.bin"));
  }
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST(OutputStore, WriterRefusesWhatDoesNotFit) {
  const fs::path path = fresh_folder("refuse") / "outputs.bin";
  Result<OutputWriter> writer = OutputWriter::open(path, identity(), two_outputs(), 2);
  EXPECT_THAT(writer->write(2, 0, payload(12, 0)),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("sample 2 of 2")));
  EXPECT_THAT(writer->write(0, 2, payload(12, 0)),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("output 2 of 2")));
  EXPECT_THAT(writer->write(0, 0, payload(11, 0)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("got 11 bytes, it takes 12")));
  ASSERT_THAT(writer->write(0, 0, payload(12, 0)), IsOk());
  EXPECT_THAT(writer->write(0, 0, payload(12, 0)),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("\"logits\" of sample 0")));
}

TEST(OutputStore, OpenRefusesNoSamplesFreeShapesAndFoldersThatAreNot) {
  const fs::path path = fresh_folder("open") / "outputs.bin";
  EXPECT_THAT(OutputWriter::open(path, identity(), two_outputs(), 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no samples")));
  EXPECT_FALSE(OutputWriter::open(path, identity(), {{"y", DType::kFloat32, {-1}}}, 1).ok());
  EXPECT_FALSE(OutputWriter::open(path, identity(), {}, 1).ok());
  EXPECT_FALSE(OutputWriter::open(path, identity(), {{"\xFF", DType::kFloat32, {1}}}, 1).ok());
  EXPECT_THAT(OutputWriter::open("/nowhere/outputs.bin", identity(), two_outputs(), 1),
              StatusIs(StatusCode::kNotFound, HasSubstr("/nowhere/outputs.bin")));
  EXPECT_THAT(OutputReader::open("/nowhere/outputs.bin"),
              StatusIs(StatusCode::kNotFound, HasSubstr("/nowhere/outputs.bin")));
  EXPECT_FALSE(OutputReader::open(path.parent_path()).ok());
}

TEST(OutputStore, ScalarsAndEmptyOutputsAreKept) {
  const fs::path path = fresh_folder("scalar") / "outputs.bin";
  const std::vector<TensorSpec> outputs{{"score", DType::kFloat32, {}},
                                        {"boxes", DType::kFloat32, {0, 4}}};
  Result<OutputWriter> writer = OutputWriter::open(path, identity(), outputs, 1);
  ASSERT_THAT(writer->write(0, 0, payload(4, 0)), IsOk());
  ASSERT_THAT(writer->write(0, 1, {}), IsOk());
  ASSERT_THAT(writer->finish(), IsOk());
  Result<OutputReader> reader = OutputReader::open(path);
  EXPECT_EQ(reader->output(0, 0)->size(), 4U);
  EXPECT_EQ(reader->output(0, 1)->size(), 0U);
}

TEST(OutputStore, LargeOutputsPassThrough) {
  const fs::path path = fresh_folder("large") / "outputs.bin";
  const std::vector<TensorSpec> outputs{{"map", DType::kUInt8, {300'001}}};
  Result<OutputWriter> writer = OutputWriter::open(path, identity(), outputs, 3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_THAT(writer->write(i, 0, payload(300'001, i)), IsOk());
  }
  ASSERT_THAT(writer->finish(), IsOk());
  Result<OutputReader> reader = OutputReader::open(path);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::ranges::equal(*reader->output(i, 0), payload(300'001, i)));
  }
}

TEST(OutputStore, IdentityThatDiffersIsNamedWithBothValues) {
  EXPECT_THAT(check_identity(identity(), identity()), IsOk());
  StoreIdentity other = identity();
  other.executed_precision = "FLOAT16";
  EXPECT_THAT(check_identity(other, identity()),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("precision"), HasSubstr("FLOAT16"), HasSubstr("FLOAT32"))));
  other = identity();
  other.seeds["data"] = 8;
  EXPECT_THAT(check_identity(other, identity()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("data=8")));
}

TEST(OutputStoreHostile, EveryTruncationIsRefused) {
  const fs::path path = write_store("truncated", 2);
  for (std::uintmax_t size = fs::file_size(path); size > 0;) {
    fs::resize_file(path, --size);
    EXPECT_THAT(OutputReader::open(path), StatusIs(StatusCode::kDataLoss, HasSubstr("outputs.bin")))
        << size;
  }
}

// Reads all that a store has; only the absence of a crash and of silently wrong bytes matters.
void read_all(const fs::path& path) {
  Result<OutputReader> reader = OutputReader::open(path);
  if (!reader.ok()) return;
  for (std::uint64_t sample = 0; sample < reader->sample_count(); ++sample) {
    (void)reader->has(sample).ok();
    for (std::size_t output = 0; output < reader->outputs().size(); ++output) {
      const auto bytes = reader->output(sample, output);
      if (bytes.ok()) {
        EXPECT_TRUE(std::ranges::equal(*bytes, payload(bytes->size(), sample)));
      }
    }
  }
}

TEST(OutputStoreHostile, NoFlippedByteIsReadAsGood) {
  const fs::path path = write_store("flipped", 2);
  const std::string whole = read_file(path).value();
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](std::size_t at, char byte) {
    file.seekp(static_cast<std::streamoff>(at)).put(byte).flush();
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      put(i, static_cast<char>(whole[i] ^ flip));
      read_all(path);
    }
    put(i, whole[i]);
  }
  Result<OutputReader> reader = OutputReader::open(path);
  ASSERT_THAT(reader, IsOk());
  expect_sample(*reader, 1);
}

// Rewrites the JSON header with checksums that match, as an attacker would.
void forge(const fs::path& path, const std::string& json, std::uint64_t samples,
           std::uint64_t record_bytes) {
  RecordLayout layout;
  layout.record_bytes = record_bytes;
  FixedHeader header = make_header(json, layout, samples);
  seal(header, samples);
  std::string file(reinterpret_cast<const char*>(&header), sizeof(header));
  file += json;
  file.resize(header.records_offset + std::min<std::uint64_t>(samples * record_bytes, 4096));
  std::ofstream(path, std::ios::binary) << file;
}

TEST(OutputStoreHostile, ForgedHeadersAreRefused) {
  const fs::path path = fresh_folder("forged") / "outputs.bin";
  const std::string head =
      R"({"identity":{"model_hash":"a","dataset_hash":"b","executed_precision":"c","backend":"d","seeds":{}},"outputs":)";
  const std::vector<std::string> bodies = {
      R"([{"name":"y","dtype":"FLOAT32","shape":[9223372036854775807,4]}]})",
      R"([{"name":"y","dtype":"FLOAT32","shape":[18446744073709551615]}]})",
      R"([{"name":"y","dtype":"FLOAT32","shape":[-1]}]})",
      R"([{"name":"y","dtype":"TEXT","shape":[1]}]})",
      R"([{"name":7,"dtype":"FLOAT32","shape":[1]}]})",
      R"([{"name":"y","dtype":"FLOAT32","shape":{}}]})",
      R"([]})",
      R"({}})",
      R"([{"name":"y","dtype":"FLOAT32","shape":[9]}]})",
  };
  for (const std::string& body : bodies) {
    forge(path, head + body, 1, 16);
    EXPECT_THAT(OutputReader::open(path), StatusIs(StatusCode::kDataLoss, HasSubstr("header")))
        << body;
  }
  forge(path, std::string(100'000, '['), 1, 16);
  EXPECT_THAT(OutputReader::open(path), StatusIs(StatusCode::kDataLoss, HasSubstr("header")));
  forge(path, head + bodies.back(), UINT64_MAX, 16);
  EXPECT_THAT(OutputReader::open(path), StatusIs(StatusCode::kDataLoss, HasSubstr("impossible")));
  forge(path, head + bodies.back(), 1ULL << 40, 48);
  EXPECT_THAT(OutputReader::open(path), StatusIs(StatusCode::kDataLoss, HasSubstr("bytes")));
}

constexpr std::uint32_t kSeed = 7;

TEST(OutputStoreHostile, SeededMutationsReachTheFuzzEntryUnharmed) {
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  const std::string whole = read_file(write_store("fuzz", 3)).value();
  std::mt19937 generator(kSeed);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (std::uint32_t change = generator() % 4 + 1; change > 0; --change) {
      bytes[generator() % bytes.size()] = static_cast<char>(generator());
    }
    if (generator() % 4 == 0) bytes.resize(generator() % bytes.size());
    EXPECT_EQ(
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
        0);
  }
}

TEST(OutputStoreHostile, FileCutWhileItIsReadIsAnErrorNotASignal) {
  const fs::path path = write_store("cut", 100);
  Result<OutputReader> reader = OutputReader::open(path);
  fs::resize_file(path, 256);
  EXPECT_THAT(reader->output(99, 0), StatusIs(StatusCode::kDataLoss, HasSubstr("ends early")));
  EXPECT_THAT(reader->has(99), StatusIs(StatusCode::kDataLoss, HasSubstr("ends early")));
}

TEST(CompareStores, PairsOutputsByNameAndLeavesOutMissingSamples) {
  const fs::path folder = fresh_folder("compare");
  const std::vector<TensorSpec> ref_specs{{"a", DType::kFloat32, {1}}, {"b", DType::kFloat32, {1}}};
  const std::vector<TensorSpec> got_specs{ref_specs[1], ref_specs[0]};
  const auto value = [](float v) {
    std::vector<std::byte> bytes(sizeof(v));
    std::memcpy(bytes.data(), &v, sizeof(v));
    return bytes;
  };
  auto reference = OutputWriter::open(folder / "ref", identity(), ref_specs, 3);
  auto got = OutputWriter::open(folder / "got", identity(), got_specs, 3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_THAT(reference->write(i, 0, value(1)), IsOk());
    ASSERT_THAT(reference->write(i, 1, value(2)), IsOk());
    if (i == 1) continue;
    ASSERT_THAT(got->write(i, 0, value(2)), IsOk());
    ASSERT_THAT(got->write(i, 1, value(i == 2 ? 1.5F : 1.0F)), IsOk());
  }
  ASSERT_THAT(reference->finish(), IsOk());
  ASSERT_THAT(got->finish(), IsOk());
  auto ref_reader = OutputReader::open(folder / "ref");
  auto got_reader = OutputReader::open(folder / "got");
  const auto report = compare_stores(*ref_reader, *got_reader, {});
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->samples, 2U);
  EXPECT_EQ(report->missing_samples, 1U);
  EXPECT_FALSE(report->identical);
  EXPECT_EQ(report->outputs[0].output, "a");
  EXPECT_EQ(report->outputs[0].max_abs, 0.5);
  EXPECT_EQ(report->outputs[0].worst[0].sample_id, 2U);
  EXPECT_TRUE(report->outputs[1].identical);
  EXPECT_EQ(judge_numeric(*report, {}).verdict, Verdict::kInconclusive);
  EXPECT_EQ(judge_numeric(*report, {.tolerance_named = true}).verdict, Verdict::kFail);
  const auto self = compare_stores(*ref_reader, *ref_reader, {});
  EXPECT_TRUE(self->identical);
  EXPECT_EQ(judge_numeric(*self, {.tolerance_named = true}).verdict, Verdict::kPass);
}

TEST(CompareStores, OtherNamesOrSamplesAreFailuresNamingBoth) {
  const fs::path folder = fresh_folder("compare names");
  const auto make = [&](const char* file, const char* output, std::uint64_t samples) {
    auto writer =
        OutputWriter::open(folder / file, identity(), {{output, DType::kUInt8, {1}}}, samples);
    EXPECT_THAT(writer->finish(), IsOk());
    return OutputReader::open(folder / file);
  };
  auto a = make("a", "prob", 2);
  auto b = make("b", "logits", 2);
  auto c = make("c", "prob", 3);
  EXPECT_THAT(compare_stores(*a, *b, {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("\"prob\""), HasSubstr("\"logits\""))));
  EXPECT_THAT(compare_stores(*a, *c, {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not of the same samples")));
  EXPECT_THAT(compare_stores(*a, *a, {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no sample")));
}

}  // namespace
}  // namespace assay::check
