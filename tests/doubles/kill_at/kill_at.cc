// Preloaded into `assay`: ends it by SIGKILL at the k-th call that changes a file.
//
// ASSAY_KILL_AT=k   at the k-th call, counted from 1; without it, at none. A write is torn: half of
//                   its bytes are written before the end. Any other call is not made any more.
// ASSAY_KILL_LOG=f  gets one line per call, "write", "fsync", ..., of the whole run.
//
// Only the process that the test started counts, not the workers, which inherit the environment.
// Writes to standard output and error, and messages, change no file and do not count.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kFirstFile = 3;

struct Plan {
  bool counts = std::strcmp(program_invocation_short_name, "assay") == 0;
  long kill_at = 0;
  int log = -1;
  std::atomic<long> calls{0};

  Plan() {
    if (const char* const at = std::getenv("ASSAY_KILL_AT")) kill_at = std::atol(at);
    const char* const path = std::getenv("ASSAY_KILL_LOG");
    if (counts && path != nullptr) {
      log = static_cast<int>(
          ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    }
  }
};

Plan& plan() {
  static Plan made;
  return made;
}

[[noreturn]] void end() {
  for (;;) ::kill(::getpid(), SIGKILL);
}

// Counts a call. True when it is the one to end at.
bool due(const char* name) {
  Plan& now = plan();
  if (!now.counts) return false;
  if (now.log >= 0) {
    const std::string line = std::string(name) + '\n';
    (void)::syscall(SYS_write, now.log, line.data(), line.size());
  }
  return now.calls.fetch_add(1) + 1 == now.kill_at;
}

bool due_on(int fd, const char* name) {
  struct stat info{};
  return fd >= kFirstFile && ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && due(name);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* data,
                                                                size_t size) {
  if (due_on(fd, "write")) {
    ::syscall(SYS_write, fd, data, size / 2);
    end();
  }
  return ::syscall(SYS_write, fd, data, size);
}

extern "C" __attribute__((visibility("default"))) ssize_t writev(int fd, const iovec* parts,
                                                                 int count) {
  if (due_on(fd, "writev")) {
    if (count > 0) ::syscall(SYS_write, fd, parts[0].iov_base, parts[0].iov_len / 2);
    end();
  }
  return ::syscall(SYS_writev, fd, parts, count);
}

extern "C" __attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* data,
                                                                 size_t size, off_t offset) {
  if (due_on(fd, "pwrite")) {
    ::syscall(SYS_pwrite64, fd, data, size / 2, offset);
    end();
  }
  return ::syscall(SYS_pwrite64, fd, data, size, offset);
}

extern "C" __attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void* data,
                                                                   size_t size, off64_t offset) {
  return pwrite(fd, data, size, offset);
}

extern "C" __attribute__((visibility("default"))) ssize_t copy_file_range(
    int in, off64_t* in_offset, int out, off64_t* out_offset, size_t size, unsigned flags) {
  if (due_on(out, "copy_file_range")) end();
  return ::syscall(SYS_copy_file_range, in, in_offset, out, out_offset, size, flags);
}

extern "C" __attribute__((visibility("default"))) ssize_t sendfile(int out, int in, off_t* offset,
                                                                   size_t size) noexcept {
  if (due_on(out, "sendfile")) end();
  return ::syscall(SYS_sendfile, out, in, offset, size);
}

extern "C" __attribute__((visibility("default"))) int fsync(int fd) {
  if (due("fsync")) end();
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

extern "C" __attribute__((visibility("default"))) int fdatasync(int fd) {
  if (due("fdatasync")) end();
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

extern "C" __attribute__((visibility("default"))) int rename(const char* from,
                                                             const char* to) noexcept {
  if (due("rename")) end();
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

extern "C" __attribute__((visibility("default"))) int link(const char* from,
                                                           const char* to) noexcept {
  if (due("link")) end();
  return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}

extern "C" __attribute__((visibility("default"))) int ftruncate(int fd, off_t size) noexcept {
  if (due_on(fd, "ftruncate")) end();
  return static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}

extern "C" __attribute__((visibility("default"))) int mkdir(const char* path,
                                                            mode_t mode) noexcept {
  if (due("mkdir")) end();
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
