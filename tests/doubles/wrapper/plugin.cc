// A backend that is the CPU backend with one fault: any ONNX model runs as it does there, through
// its own tables, and interact_info.fault says what is wrong. "none" passes every call on as it
// came. What each fault does stands at its class; WRAPPER.json has the options.
//
// The compiler's handle is the wrapped backend's own. The runtime's is a Runtime, so that an infer
// can be changed. Submit is not offered: it would go past the fault.

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "assay/backend.hpp"
#include "call.h"
#include "contract.h"
#include "fault.h"
#include "wrapped.h"

namespace wrapper {
namespace {

namespace backend = assay::backend;
using backend::detail::guarded;

constexpr const char* kHardwareType = "WRAPPER";

// The parts of the wrapped backend's tables that this program knows; the rest is null.
template <typename Table>
Table known_part(const Table& table) {
  Table known{};
  std::memcpy(&known, &table, std::min<std::size_t>(table.struct_size, sizeof known));
  known.struct_size = sizeof known;
  return known;
}

const assay_compile_table& wrapped_compile() {
  static const assay_compile_table kTable = known_part(*wrapped_plugin(nullptr).compile);
  return kTable;
}
const assay_runtime_table& wrapped_runtime() {
  static const assay_runtime_table kTable = known_part(*wrapped_plugin(nullptr).runtime);
  return kTable;
}

// ---- compile ------------------------------------------------------------------------------------

int32_t get_compile_traits(assay_compiler* compiler, assay_compile_traits* traits,
                           assay_error* error) {
  const int32_t code = wrapped_compile().get_traits(compiler, traits, error);
  if (code == ASSAY_OK) traits->hardware_type = kHardwareType;
  return code;
}

void append(void* text, const char* data, uint64_t size) {
  static_cast<std::string*>(text)->append(data, size);
}

// A heartbeat whose answer nobody hears.
uint32_t deaf_progress(void* context, double done, const char* stage) {
  const auto& request = *static_cast<const assay_compile_request*>(context);
  (void)request.progress(request.progress_context, done, stage);
  return 0;
}

assay_compile_request deaf_to_progress(const assay_compile_request& request) {
  assay_compile_request deaf = request;
  deaf.progress_context = const_cast<assay_compile_request*>(&request);
  deaf.progress = deaf_progress;
  return deaf;
}

int32_t compile(assay_compiler* compiler, const assay_compile_request* request,
                const assay_text_sink* result, assay_error* error) {
  const int32_t refused = guarded(error, [&] {
    const backend::Document configs(*request->configs);
    chosen_fault(configs);
    before_compile(configs);
  });
  if (refused != ASSAY_OK) return refused;
  std::string text;
  const assay_text_sink own{sizeof own, 0, &text, append};
  const bool is_deaf = planted("ignores_cancel") && request->progress != nullptr;
  const assay_compile_request deaf = is_deaf ? deaf_to_progress(*request) : *request;
  const int32_t code = wrapped_compile().compile(compiler, &deaf, &own, error);
  if (code != ASSAY_OK && code != ASSAY_CANCELLED && planted("accepts_corrupt")) {
    const std::string success = backend::CompileResult().to_json();
    result->write(result->context, success.data(), success.size());
    return ASSAY_OK;
  }
  if (code != ASSAY_OK) return code;
  return guarded(error, [&] {
    const backend::Document configs(*request->configs);
    const std::string folder(request->artifact_folder.data, request->artifact_folder.size);
    mark_artifact(configs, folder);
    change_model(configs, folder);
    text = after_compile(folder, declared_result(configs, std::move(text)));
    result->write(result->context, text.data(), text.size());
  });
}

int32_t bad_profile(assay_compiler* /*compiler*/, const assay_document* /*configs*/,
                    const assay_text_sink* profile, assay_error* /*error*/) {
  constexpr std::string_view kText = R"([{"name": 1, "type": "colour"}])";
  profile->write(profile->context, kText.data(), kText.size());
  return ASSAY_OK;
}

assay_compile_table compile_table() {
  assay_compile_table table = wrapped_compile();
  if (planted("bad_profile")) table.get_interact_profile = bad_profile;
  table.get_traits = get_compile_traits;
  table.compile = compile;
  return table;
}

// ---- runtime ------------------------------------------------------------------------------------

// A handle of the wrapped backend and what is wrong with it.
struct Runtime {
  assay_runtime* wrapped = nullptr;
  bool is_loaded = false;
  std::string artifact_folder;   // of what is loaded
  std::unique_ptr<Fault> fault;  // null for none
};

Runtime& runtime_of(assay_runtime* handle) { return *reinterpret_cast<Runtime*>(handle); }

// Slot kSlot of the wrapped backend's table, for our handle.
template <auto kSlot, typename... Arguments>
int32_t pass_on(assay_runtime* handle, Arguments... arguments) {
  return (wrapped_runtime().*kSlot)(runtime_of(handle).wrapped, arguments...);
}

int32_t create(const assay_host* host, assay_runtime** runtime, assay_error* error) {
  auto made = std::make_unique<Runtime>();
  const int32_t code = wrapped_runtime().create(host, &made->wrapped, error);
  if (code == ASSAY_OK) *runtime = reinterpret_cast<assay_runtime*>(made.release());
  if (code == ASSAY_OK) contract_created();
  return code;
}

void destroy(assay_runtime* handle) {
  const std::unique_ptr<Runtime> runtime(&runtime_of(handle));
  wrapped_runtime().destroy(runtime->wrapped);
}

void add_spec(void* context, uint32_t end, const assay_tensor* tensor) {
  auto& signature = *static_cast<backend::Signature*>(context);
  auto& specs = end == ASSAY_INPUT ? signature.inputs : signature.outputs;
  specs.push_back({tensor->name,
                   static_cast<backend::DType>(tensor->dtype),
                   {tensor->shape, tensor->shape + tensor->rank}});
}

int32_t load(assay_runtime* handle, const assay_load_request* request, assay_error* error) {
  Runtime& self = runtime_of(handle);
  const std::string folder(request->artifact_folder.data, request->artifact_folder.size);
  const int32_t refused = guarded(error, [&] { before_load(self.is_loaded, folder); });
  if (refused != ASSAY_OK) return refused;
  self.is_loaded = false;
  self.fault.reset();
  const int32_t code = wrapped_runtime().load(self.wrapped, request, error);
  if (code != ASSAY_OK) {
    load_failed();
    return code;
  }
  return guarded(error, [&] {
    FaultSetup setup{backend::Document(*request->configs),
                     {request->artifact_folder.data, request->artifact_folder.size},
                     {}};
    const assay_signature_sink sink{sizeof sink, 0, &setup.signature, add_spec};
    backend::detail::HostError failure;
    failure.check(wrapped_runtime().describe(self.wrapped, &sink, &failure.error));
    after_load(setup.signature);
    self.fault = make_chosen_fault(setup);
    if (self.fault == nullptr) self.fault = make_contract_fault();
    self.artifact_folder = folder;
    self.is_loaded = true;
  });
}

int32_t close(assay_runtime* handle, assay_error* error) {
  const Runtime& self = runtime_of(handle);
  if (self.is_loaded) contract_closed(self.artifact_folder);
  return wrapped_runtime().close(self.wrapped, error);
}

int32_t version(assay_runtime* handle, const assay_text_sink* sink, assay_error* error) {
  const int32_t code = wrapped_runtime().version(runtime_of(handle).wrapped, sink, error);
  const std::string suffix = contract_version_suffix();
  if (!suffix.empty()) sink->write(sink->context, suffix.data(), suffix.size());
  return code;
}

int32_t probe(const assay_host* host, const assay_probe_sink* sink, assay_error* error) {
  const int32_t code = wrapped_runtime().probe(host, sink, error);
  contract_probed();
  return code;
}

int32_t get_traits(assay_runtime* handle, assay_runtime_traits* traits, assay_error* error) {
  const int32_t code = wrapped_runtime().get_traits(runtime_of(handle).wrapped, traits, error);
  if (ASSAY_REACHES(traits, can_cancel)) {
    traits->max_in_flight = 0;
    traits->can_cancel = 0;
  }
  return code;
}

int32_t infer(assay_runtime* handle, const assay_infer_request* request, assay_error* error) {
  const Runtime& self = runtime_of(handle);
  if (!self.is_loaded)
    return assay_set_error(error, ASSAY_FAILED_PRECONDITION, "nothing is loaded");
  if (self.fault == nullptr) return wrapped_runtime().infer(self.wrapped, request, error);
  return guarded(error,
                 [&] { self.fault->infer(Call(wrapped_runtime(), self.wrapped, *request)); });
}

assay_runtime_table runtime_table() {
  const assay_runtime_table& wrapped = wrapped_runtime();
  assay_runtime_table table{};
  table.struct_size = sizeof table;
  table.create = create;
  table.destroy = destroy;
  table.load = load;
  table.get_traits = get_traits;
  table.infer = infer;
  table.version = version;
  table.get_loaded_batch_size = pass_on<&assay_runtime_table::get_loaded_batch_size>;
  table.describe = pass_on<&assay_runtime_table::describe>;
  table.close = close;
  if (wrapped.probe != nullptr) table.probe = probe;
  if (wrapped.recover != nullptr) table.recover = pass_on<&assay_runtime_table::recover>;
  if (wrapped.generate_qs_config != nullptr) {
    table.generate_qs_config = pass_on<&assay_runtime_table::generate_qs_config>;
  }
  if (wrapped.benchmark != nullptr) table.benchmark = pass_on<&assay_runtime_table::benchmark>;
  return table;
}

// A host that the wrapped backend does not refuse.
const assay_host* as_known_host(const assay_host& host) {
  static assay_host known;
  known = host;
  known.struct_size = sizeof known;
  known.abi_major = ASSAY_BACKEND_ABI_MAJOR;
  known.abi_minor = ASSAY_BACKEND_ABI_MINOR;
  known.abi_minor_oldest = ASSAY_BACKEND_ABI_MINOR_OLDEST;
  return &known;
}

const assay_plugin& wrapper_plugin(const assay_host* host) {
  (void)wrapped_plugin(host);  // opens it
  static const assay_compile_table kCompile = compile_table();
  static const assay_runtime_table kRuntime = runtime_table();
  // The wrapped backend's extensions take its own handles: they are not offered.
  static const assay_plugin kPlugin = {sizeof(assay_plugin),
                                       ASSAY_BACKEND_ABI_MAJOR,
                                       ASSAY_BACKEND_ABI_MINOR,
                                       ASSAY_BACKEND_ABI_MINOR_OLDEST,
                                       &kCompile,
                                       &kRuntime,
                                       nullptr};
  return kPlugin;
}

}  // namespace
}  // namespace wrapper

int32_t assay_backend_v0(const assay_host* host, const assay_plugin** plugin, assay_error* error) {
  *plugin = nullptr;
  const int32_t code = assay_check_host(host, error);
  const bool accepts = code != ASSAY_OK && wrapper::planted("accepts_any_host");
  if (code != ASSAY_OK && !accepts) return code;
  wrapper::contract_entry();
  const assay_host* const shown = accepts ? wrapper::as_known_host(*host) : host;
  return assay::backend::detail::guarded(error, [&] { *plugin = &wrapper::wrapper_plugin(shown); });
}
