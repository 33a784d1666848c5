// Drills of what comes before anything is loaded: the entry, its versions, probe, names.

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "assay/backend.h"
#include "base/utf8.h"
#include "drill/drills.h"
#include "drill/resources.h"
#include "host/backend.h"

namespace assay::drill {
namespace {

// A host's table as a later Assay might have it: longer by what this one does not know.
struct LongerHost {
  assay_host known;
  std::array<void*, 4> unknown;
};

struct Entry {
  assay_backend_entry call;
};

Result<Entry> entry_of(const std::filesystem::path& path) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return unavailable(fmt::format("cannot open the library: {}",
                                   ::dlerror()));  // NOLINT(concurrency-mt-unsafe): glibc's is
  void* const symbol = ::dlsym(handle, ASSAY_BACKEND_ENTRY_NAME);
  if (symbol == nullptr) return unimplemented("the symbol " ASSAY_BACKEND_ENTRY_NAME " is missing");
  return Entry{reinterpret_cast<assay_backend_entry>(symbol)};
}

std::string objection_to_refusal(std::int32_t code, const char* message) {
  if (code == ASSAY_OK) return "the entry accepted a host that it cannot work with";
  if (code != ASSAY_FAILED_PRECONDITION) {
    return fmt::format("the entry refused with {}, wanted: FAILED_PRECONDITION",
                       status_code_name(static_cast<StatusCode>(code)));
  }
  return std::strlen(message) > 0 ? "" : "the entry refused without a message";
}

}  // namespace

// One host that is not ours, in a process that has called the entry never before.
Result<Finding> negotiate(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const std::int64_t major, argument<std::int64_t>(arguments, "major"));
  ASSIGN_OR_RETURN(const std::int64_t minor, argument<std::int64_t>(arguments, "minor"));
  ASSIGN_OR_RETURN(const std::int64_t oldest, argument<std::int64_t>(arguments, "oldest"));
  ASSIGN_OR_RETURN(const bool accept, argument<bool>(arguments, "accept"));
  ASSIGN_OR_RETURN(const Entry entry, entry_of(context.path));
  static LongerHost host;  // a backend may keep it for the life of the process
  host.known = {sizeof host,
                static_cast<std::uint32_t>(major),
                static_cast<std::uint32_t>(minor),
                static_cast<std::uint32_t>(oldest),
                nullptr,
                [](void*, std::uint32_t, const char*, std::uint64_t) {},
                [](void*, const char*) -> const void* { return nullptr; }};
  std::array<char, 512> message{};
  assay_error error{0, 0, message.data(), message.size(), 0};
  const assay_plugin* plugin = nullptr;
  const std::int32_t code = entry.call(&host.known, &plugin, &error);
  if (!accept) return broken(objection_to_refusal(code, message.data()));
  if (code != ASSAY_OK) return broken(fmt::format("the entry refused: {}", message.data()));
  if (plugin == nullptr || !ASSAY_REACHES(plugin, runtime)) {
    return broken("the entry succeeded without a plugin");
  }
  return Finding{"", Json{{"minor", plugin->abi_minor}, {"oldest", plugin->abi_minor_oldest}}};
}

Result<Finding> entry_acquires(const Context& context, const Json& /*arguments*/) {
  const Resources before = own_resources();
  ASSIGN_OR_RETURN(const host::Library library, host::Library::open(context.path));
  const std::string more = growth(before, own_resources());
  if (!more.empty()) return broken("opening the library and calling its entry left " + more);
  return Finding{"", Json{{"interface_version", library.interface_version()}}};
}

Result<Finding> probe_acquires(const Context& context, const Json& /*arguments*/) {
  const Resources before = own_resources();
  ASSIGN_OR_RETURN(const std::optional<host::ProbeResult> probed, host::probe(*context.library));
  if (!probed) return Finding{"", Json{{"offered", false}}};
  const std::string more = growth(before, own_resources());
  if (!more.empty()) return broken("probe left " + more);
  if (!probed->available && probed->reason.empty()) {
    return broken("probe says that the backend is not available, and not why");
  }
  return Finding{"", Json{{"offered", true},
                          {"available", probed->available},
                          {"reason", probed->reason},
                          {"devices", probed->devices.size()}}};
}

Result<Finding> identity(const Context& context, const Json& arguments) {
  ASSIGN_OR_RETURN(const std::string wanted, argument<std::string>(arguments, "hardware_type"));
  ASSIGN_OR_RETURN(host::CompileBackend compiler, host::CompileBackend::create(*context.library));
  ASSIGN_OR_RETURN(const host::CompileTraits traits, compiler.traits());
  if (traits.hardware_type != wanted) {
    return broken(fmt::format("the backend says hardware_type \"{}\", its folder is \"{}\"",
                              valid_utf8(traits.hardware_type), wanted));
  }
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, host::RuntimeBackend::create(*context.library));
  ASSIGN_OR_RETURN(const std::string version, runtime.version());
  ASSIGN_OR_RETURN(const std::string again, runtime.version());
  RETURN_IF_ERROR(runtime.close());
  if (version.empty()) return broken("version is empty");
  if (!is_valid_utf8(version)) return broken("version is not UTF-8 text");
  if (version != again) {
    return broken(fmt::format("version said \"{}\" and then \"{}\"", version, valid_utf8(again)));
  }
  return Finding{"", Json{{"version", version}}};
}

}  // namespace assay::drill
