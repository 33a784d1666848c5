// Runs a fuzz target without a fuzzer: over every file of the folders given, over beginnings of it,
// and over seeded mutations of it. The same inputs on every machine.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz.h"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBeginnings = 40;
constexpr int kMutations = 300;
constexpr std::size_t kMaxEdits = 4;

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

void run_beginnings(const std::string& input) {
  const std::size_t step = std::max<std::size_t>(1, input.size() / kBeginnings);
  for (std::size_t length = 0; length < input.size(); length += step) {
    run(input.substr(0, length));
  }
}

// Overwrites, removes or repeats a few bytes.
std::string mutated(std::string input, std::mt19937& random) {
  const std::size_t edits = 1 + random() % kMaxEdits;
  for (std::size_t i = 0; i < edits && !input.empty(); ++i) {
    const std::size_t at = random() % input.size();
    const std::size_t length = 1 + random() % std::min<std::size_t>(16, input.size() - at);
    switch (random() % 3) {
      case 0:
        input[at] = static_cast<char>(random());
        break;
      case 1:
        input.erase(at, length);
        break;
      default:
        input.insert(random() % input.size(), input.substr(at, length));
        break;
    }
  }
  return input;
}

std::vector<fs::path> files_in(const std::vector<std::string>& folders) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());  // a folder has no order of its own
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<fs::path> files = files_in({argv + 1, argv + argc});
  std::mt19937 random(1);
  for (const fs::path& path : files) {
    std::ifstream stream(path, std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(stream), {}};
    run(input);
    run_beginnings(input);
    for (int i = 0; i < kMutations; ++i) run(mutated(input, random));
  }
  std::printf("%zu files\n", files.size());
  return files.empty() ? 1 : 0;  // a target without a corpus tests nothing
}
