#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "assay/backend.h"
#include "base/result.h"

namespace assay::host {

// What the host does with a backend's log lines. Called from any thread.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // `level` is one of ASSAY_LOG_*.
  virtual void write(std::uint32_t level, std::string_view line) = 0;
};

// A backend's library, opened and agreed with. Copies share it; it is never unloaded, and neither
// is what it was given, so it may be called until the process ends. Thread-safe.
class Library {
 public:
  // Opens `path` and negotiates. `log` may be null; it must live as long as the process.
  //   kNotFound            the file is missing
  //   kInvalidArgument     it is not a shared library of this machine
  //   kDataLoss            it is truncated
  //   kUnavailable         a library that it needs cannot be found or lacks a symbol
  //   kUnimplemented       it exports no backend
  //   kFailedPrecondition  it speaks another version of the boundary; both versions are named
  //   kInternal            what it exports breaks the rules of the boundary
  // or the code with which its entry refused.
  static Result<Library> open(const std::filesystem::path& path, LogSink* log = nullptr);

  // Takes an entry that is linked into this program. For tests of backends and of this room.
  static Result<Library> from_entry(assay_backend_entry entry, std::string name,
                                    LogSink* log = nullptr);

  const std::string& name() const { return name_; }  // file name, for messages
  const assay_plugin& plugin() const { return *plugin_; }
  const assay_host& host() const { return *host_; }

  // "0.1": the version of the boundary the backend was built with.
  std::string interface_version() const;

  // The struct behind an extension's name, or null.
  const void* extension(const char* name) const;

 private:
  Library(std::string name, const assay_host& host, const assay_plugin& plugin)
      : name_(std::move(name)), host_(&host), plugin_(&plugin) {}

  std::string name_;
  const assay_host* host_;
  const assay_plugin* plugin_;
};

}  // namespace assay::host
