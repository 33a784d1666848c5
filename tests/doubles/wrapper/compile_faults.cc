// Faults of compilation: what it leaves in the artifact, every load of that artifact gets.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <random>

#include "fault.h"

namespace wrapper {
namespace {

using assay::backend::Document;
using assay::backend::Error;

constexpr const char* kFlaky = "compile_flaky";
constexpr const char* kGood = "good";
constexpr const char* kBad = "bad";

std::string mark_path(const std::string& artifact_folder) {
  return artifact_folder + "/wrapper_mark.txt";
}

// An open file, locked against others until it goes.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0 || flock(file_, LOCK_EX) != 0) {
      throw Error(ASSAY_INVALID_ARGUMENT,
                  "option fault_counter: " + path + ": " + std::strerror(errno));
    }
  }
  ~LockedFile() {
    if (file_ >= 0) close(file_);
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  int get() const { return file_; }

 private:
  int file_;
};

// The number in the file at `path`, 0 in an empty one; leaves one more there.
std::uint64_t count_up(const std::string& path) {
  const LockedFile file(path);
  char text[32];
  const ssize_t size = pread(file.get(), text, sizeof text, 0);
  std::uint64_t count = 0;
  if (size > 0 && std::from_chars(text, text + size, count).ec != std::errc()) {
    throw Error(ASSAY_INVALID_ARGUMENT, "option fault_counter: " + path + " holds no number");
  }
  const std::string next = std::to_string(count + 1);
  if (size < 0 || pwrite(file.get(), next.data(), next.size(), 0) < 0) {
    throw Error(ASSAY_INVALID_ARGUMENT,
                "option fault_counter: " + path + ": " + std::strerror(errno));
  }
  return count;
}

// 64 random bits: entropy, or the seed's for this compilation.
std::uint64_t draw(const Document& configs) {
  if (!configs.has("interact_info.fault_seed")) {
    std::random_device entropy;
    return std::uint64_t{entropy()} << 32 | entropy();
  }
  const auto seed = static_cast<std::uint64_t>(configs.integer("interact_info.fault_seed"));
  const std::string counter = configs.text("interact_info.fault_counter", "");
  std::mt19937_64 generator(seed);
  generator.discard(counter.empty() ? 0 : count_up(counter));
  return generator();
}

bool is_bad(const Document& configs) {
  const double rate = FaultSetup{configs, {}, {}}.rate();
  if (!(rate >= 0 && rate <= 1)) {
    throw Error(ASSAY_INVALID_ARGUMENT,
                "option fault_rate: found " + std::to_string(rate) + ", accepted: 0 to 1");
  }
  constexpr double kSteps = 9007199254740992.0;  // 2^53
  return static_cast<double>(draw(configs) >> 11) / kSteps < rate;
}

// What a bad artifact answers is larger by a hundredth; a good one's answers are right.
class CompileFlaky : public AnswerFault {
 public:
  explicit CompileFlaky(const FaultSetup& setup) {
    const std::string path = mark_path(setup.artifact_folder);
    std::string mark;
    std::ifstream(path) >> mark;
    if (mark != kGood && mark != kBad) {
      throw Error(ASSAY_DATA_LOSS, path + ": found \"" + mark + "\", accepted: good, bad");
    }
    factor_ = mark == kBad ? 1.01 : 1.0;
  }

 protected:
  void change(Answer& answer, const Call& /*call*/) override {
    for (auto& [index, output] : answer) {
      change_each(output, [&](double value, std::size_t /*i*/) { return value * factor_; });
    }
  }

 private:
  double factor_ = 1;
};

constexpr FaultRow kRows[] = {{kFlaky, make_fault_from<CompileFlaky>}};

}  // namespace

std::span<const FaultRow> compile_faults() { return kRows; }

void mark_artifact(const Document& configs, const std::string& artifact_folder) {
  if (chosen_fault(configs) != kFlaky) return;
  const std::string path = mark_path(artifact_folder);
  std::ofstream file(path, std::ios::trunc);
  file << (is_bad(configs) ? kBad : kGood) << '\n';
  file.close();
  if (!file) throw Error(ASSAY_RESOURCE_EXHAUSTED, "cannot write " + path);
}

}  // namespace wrapper
