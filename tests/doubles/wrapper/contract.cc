#include "contract.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

namespace wrapper {
namespace {

using assay::backend::Document;
using assay::backend::DType;
using assay::backend::Error;
using assay::backend::Signature;

std::atomic<int> compilations = 0;
std::atomic<bool> a_load_failed = false;

std::string mark_file(const std::string& folder) { return folder + "/contract_mark"; }

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string read(const std::string& path) {
  std::string text;
  std::getline(std::ifstream(path), text);
  return text;
}

// A lock that another process sees and this one does not. Held until the process ends.
void take_process_lock(const std::string& folder) {
  static std::mutex mutex;
  static std::map<std::string, int> files;  // guarded by mutex
  const std::lock_guard guard(mutex);
  if (files.count(folder) > 0) return;
  const int file = ::open((folder + "/contract_lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (file < 0 || ::fcntl(file, F_SETLK, &lock) != 0) {
    throw Error(ASSAY_UNAVAILABLE, "the device is another process's");
  }
  files[folder] = file;
}

// A device that a process takes, and that only its close gives back.
void take_device(const std::string& folder) {
  const std::string owner = read(mark_file(folder));
  if (!owner.empty() && ::kill(std::stoi(owner), 0) != 0) {
    throw Error(ASSAY_UNAVAILABLE, "the device is held by process " + owner + ", which is gone");
  }
  write(mark_file(folder), std::to_string(::getpid()));
}

void leave_child() {
  if (::fork() != 0) return;
  ::pause();
  ::_exit(0);
}

void leak_memory() {
  constexpr std::size_t kLeak = 64 << 10;
  auto* const leaked = static_cast<volatile char*>(std::malloc(kLeak));
  for (std::size_t i = 0; i < kLeak; ++i) leaked[i] = 1;
}

}  // namespace

bool planted(const char* name) {
  const char* const asked = std::getenv("WRAPPER_FAULT");
  return asked != nullptr && std::strcmp(asked, name) == 0;
}

void contract_entry() {
  if (!planted("entry_thread")) return;
  std::thread([] {
    for (;;) ::pause();
  }).detach();
}

void contract_probed() {
  if (planted("probe_opens")) (void)::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

std::string contract_version_suffix() {
  static std::atomic<int> calls = 0;
  return planted("version_counts") ? " call " + std::to_string(++calls) : "";
}

void before_compile(const Document& configs) {
  const std::string path = configs.text("model_info.model_path", "");
  const bool is_ascii = path.find_first_of("\xC3\xE6") == std::string::npos;
  if (planted("ascii_paths") && !is_ascii) {
    throw Error(ASSAY_INVALID_ARGUMENT, "cannot open " + path);
  }
}

std::string after_compile(const std::string& artifact_folder, std::string result) {
  ++compilations;
  if (planted("writes_home")) {
    const char* const home = std::getenv("HOME");
    write(std::string(home == nullptr ? "." : home) + "/compiler.log", "compiled");
  }
  if (planted("second_compile") && compilations > 1) {
    std::filesystem::remove_all(artifact_folder + "/model");
  }
  if (planted("absolute_artifact")) write(mark_file(artifact_folder), artifact_folder);
  if (planted("bad_result")) result = "{\"compile_status\": 7}";
  const std::string unlimited = "\"max_batch_size\": null";
  const std::size_t at = result.find(unlimited);
  if (planted("maximum_lies") && at != std::string::npos) {
    result.replace(at, unlimited.size(), "\"max_batch_size\": 4");
  }
  return result;
}

void contract_created() {
  if (planted("leaks_descriptor")) (void)::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void before_load(bool was_loaded, const std::string& artifact_folder) {
  if (planted("load_once") && was_loaded) {
    throw Error(ASSAY_FAILED_PRECONDITION, "a model is loaded already");
  }
  if (planted("stuck_after_failure") && a_load_failed) {
    throw Error(ASSAY_UNAVAILABLE, "the device did not come back after the load that failed");
  }
  if (planted("absolute_artifact") && read(mark_file(artifact_folder)) != artifact_folder) {
    throw Error(ASSAY_NOT_FOUND, "no " + read(mark_file(artifact_folder)));
  }
  if (planted("one_process")) take_process_lock(artifact_folder);
  if (planted("wedged")) take_device(artifact_folder);
  if (planted("leaks_memory")) leak_memory();
}

void load_failed() { a_load_failed = true; }

void after_load(const Signature& signature) {
  if (signature.inputs.empty()) return;
  if (planted("no_int8") && signature.inputs[0].dtype == DType::kInt8) {
    throw Error(ASSAY_UNIMPLEMENTED, "no INT8 here");
  }
  if (planted("no_rank_5") && signature.inputs[0].shape.size() == 5) {
    throw Error(ASSAY_UNIMPLEMENTED, "no tensors of five dimensions here");
  }
}

void contract_closed(const std::string& artifact_folder) {
  if (planted("wedged")) std::filesystem::remove(mark_file(artifact_folder));
  if (planted("leaves_child")) leave_child();
}

}  // namespace wrapper
