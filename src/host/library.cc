#include "host/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "host/boundary.h"

namespace assay::host {
namespace {

// Majors whose symbol is looked for, to tell "another version" from "no backend at all".
constexpr unsigned kMajorsToLookFor = 16;

void log_line(void* context, std::uint32_t level, const char* data, std::uint64_t size) {
  if (context == nullptr) return;
  try {
    static_cast<LogSink*>(context)->write(level, {data, size});
  } catch (...) {  // NOLINT(bugprone-empty-catch): a lost log line is no failure of the backend
  }
}

// No extension of the host exists yet.
const void* host_extension(void* /*context*/, const char* /*name*/) { return nullptr; }

// The table that a backend keeps for the life of the process: kept here for as long.
const assay_host& host_for(LogSink* log) {
  static std::mutex mutex;
  static auto* const kHosts = new std::deque<assay_host>;  // outlives static destruction
  const std::lock_guard lock(mutex);
  const auto known = std::find_if(kHosts->begin(), kHosts->end(),
                                  [&](const assay_host& host) { return host.context == log; });
  if (known != kHosts->end()) return *known;
  return kHosts->emplace_back(assay_host{sizeof(assay_host), ASSAY_BACKEND_ABI_MAJOR,
                                         ASSAY_BACKEND_ABI_MINOR, ASSAY_BACKEND_ABI_MINOR_OLDEST,
                                         log, log_line, host_extension});
}

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
#error "state the ELF machine of this platform here"
#endif

bool is_shared_library(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_DYN &&
         header.e_machine == kMachine && header.e_phentsize == sizeof(Elf64_Phdr);
}

// The loader maps a truncated file without a word, and the process dies when it is touched.
bool holds_its_segments(std::ifstream& file, const Elf64_Ehdr& header, std::uint64_t file_size) {
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return false;
    if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > file_size) return false;
  }
  return true;
}

Status check_file(const std::filesystem::path& path) {
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) {
    return not_found(fmt::format("backend library {} does not exist", quoted(path)));
  }
  Elf64_Ehdr header{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) || !is_shared_library(header)) {
    return invalid_argument(
        fmt::format("{} is not a shared library of this machine", quoted(path)));
  }
  if (!holds_its_segments(file, header, std::filesystem::file_size(path, failed))) {
    return data_loss(fmt::format("{} is truncated", quoted(path)));
  }
  return ok_status();
}

Result<void*> open_library(const std::filesystem::path& path) {
  RETURN_IF_ERROR(check_file(path));
  // Never unloaded, whatever a backend closes: its code may be on somebody's stack.
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return handle;
  const std::string reason = text_or_empty(dlerror());
  const bool lacks_something = reason.find("cannot open shared object") != std::string::npos ||
                               reason.find("undefined symbol") != std::string::npos ||
                               reason.find("not found (required by") != std::string::npos;
  const std::string message = fmt::format("cannot open {}: {}", quoted(path), reason);
  return lacks_something ? unavailable(message) : invalid_argument(message);
}

Status no_entry(void* handle, const std::string& name) {
  for (unsigned major = 0; major < kMajorsToLookFor; ++major) {
    const std::string symbol = fmt::format("assay_backend_v{}", major);
    if (major == ASSAY_BACKEND_ABI_MAJOR || dlsym(handle, symbol.c_str()) == nullptr) continue;
    return failed_precondition(fmt::format(
        "{} was built for boundary version {}, this Assay speaks version {}.{}: rebuild it with "
        "this Assay's headers",
        name, major, ASSAY_BACKEND_ABI_MAJOR, ASSAY_BACKEND_ABI_MINOR));
  }
  return unimplemented(
      fmt::format("{} exports no backend: the symbol " ASSAY_BACKEND_ENTRY_NAME
                  " is missing (is ASSAY_EXPORT_BACKEND there, outside any namespace?)",
                  name));
}

Status check_versions(const assay_plugin& plugin, const std::string& name) {
  if (plugin.abi_major == ASSAY_BACKEND_ABI_MAJOR &&
      assay_versions_fit(ASSAY_BACKEND_ABI_MINOR, ASSAY_BACKEND_ABI_MINOR_OLDEST, plugin.abi_minor,
                         plugin.abi_minor_oldest) != 0) {
    return ok_status();
  }
  return failed_precondition(fmt::format(
      "{} speaks boundary version {}.{} (oldest it accepts: {}.{}), this Assay speaks {}.{} "
      "(oldest: {}.{})",
      name, plugin.abi_major, plugin.abi_minor, plugin.abi_major, plugin.abi_minor_oldest,
      ASSAY_BACKEND_ABI_MAJOR, ASSAY_BACKEND_ABI_MINOR, ASSAY_BACKEND_ABI_MAJOR,
      ASSAY_BACKEND_ABI_MINOR_OLDEST));
}

// Name of the first required slot that is missing, or null.
const char* missing_slot(const assay_compile_table* table) {
  if (table == nullptr) return "compile";
  if (!ASSAY_HAS(table, create)) return "compile.create";
  if (!ASSAY_HAS(table, destroy)) return "compile.destroy";
  if (!ASSAY_HAS(table, get_traits)) return "compile.get_traits";
  if (!ASSAY_HAS(table, compile)) return "compile.compile";
  return nullptr;
}

const char* missing_slot(const assay_runtime_table* table) {
  if (table == nullptr) return "runtime";
  if (!ASSAY_HAS(table, create)) return "runtime.create";
  if (!ASSAY_HAS(table, destroy)) return "runtime.destroy";
  if (!ASSAY_HAS(table, version)) return "runtime.version";
  if (!ASSAY_HAS(table, load)) return "runtime.load";
  if (!ASSAY_HAS(table, get_loaded_batch_size)) return "runtime.get_loaded_batch_size";
  if (!ASSAY_HAS(table, describe)) return "runtime.describe";
  if (!ASSAY_HAS(table, get_traits)) return "runtime.get_traits";
  if (!ASSAY_HAS(table, infer)) return "runtime.infer";
  if (!ASSAY_HAS(table, close)) return "runtime.close";
  return nullptr;
}

Status check_plugin(const assay_plugin* plugin, const std::string& name) {
  if (plugin == nullptr) {
    return internal_error(fmt::format("{}: the entry succeeded without a plugin", name));
  }
  if (!ASSAY_REACHES(plugin, runtime)) {
    return internal_error(
        fmt::format("{}: plugin.struct_size is {}, too small", name, plugin->struct_size));
  }
  RETURN_IF_ERROR(check_versions(*plugin, name));
  const char* missing = missing_slot(plugin->compile);
  if (missing == nullptr) missing = missing_slot(plugin->runtime);
  if (missing == nullptr) return ok_status();
  return internal_error(fmt::format("{}: the required slot {} is missing", name, missing));
}

}  // namespace

Result<Library> Library::open(const std::filesystem::path& path, LogSink* log) {
  const std::string name = path.filename().string();
  ASSIGN_OR_RETURN(void* const handle, open_library(path));
  void* const symbol = dlsym(handle, ASSAY_BACKEND_ENTRY_NAME);
  if (symbol == nullptr) return no_entry(handle, name);
  return from_entry(reinterpret_cast<assay_backend_entry>(symbol), name, log);
}

Result<Library> Library::from_entry(assay_backend_entry entry, std::string name, LogSink* log) {
  const assay_host& host = host_for(log);
  const assay_plugin* plugin = nullptr;
  CallError error;
  const std::int32_t code = entry(&host, &plugin, error.get());
  RETURN_IF_ERROR(error.to_status(code, name, "refused to start"));
  RETURN_IF_ERROR(check_plugin(plugin, name));
  return Library(std::move(name), host, *plugin);
}

std::string Library::interface_version() const {
  return fmt::format("{}.{}", plugin_->abi_major, plugin_->abi_minor);
}

const void* Library::extension(const char* name) const {
  return ASSAY_HAS(plugin_, get_extension) ? plugin_->get_extension(name) : nullptr;
}

}  // namespace assay::host
