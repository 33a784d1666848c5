#ifndef ASSAY_DETAIL_PLUGIN_HPP_
#define ASSAY_DETAIL_PLUGIN_HPP_

// Turns the classes of backend.hpp into the tables of backend.h. Include backend.hpp, not this.

namespace assay {
namespace backend {

inline std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kInt64:
    case DType::kUInt64:
      return 8;
    case DType::kFloat32:
    case DType::kInt32:
    case DType::kUInt32:
      return 4;
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kInt16:
    case DType::kUInt16:
      return 2;
    case DType::kFloat8E4M3:
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

namespace detail ASSAY_HIDDEN_ {

// A message buffer on the stack for calls into the host.
struct HostError {
  HostError() : error{ASSAY_OK, 0, text, sizeof text, 0} { text[0] = '\0'; }
  HostError(const HostError&) = delete;
  HostError& operator=(const HostError&) = delete;

  void check(std::int32_t code) const {
    if (code != ASSAY_OK) throw Error(code, text);
  }

  char text[512];
  assay_error error;
};

struct Access {
  static void attach(HostAccess& backend, const assay_host* host) { backend.host_ = host; }
  // Forgets a completion that was never accepted.
  static void disarm(Completion& completion) { completion.complete_ = nullptr; }
};

// Runs `body`, turning whatever it throws into a code and a message.
template <typename Body>
std::int32_t guarded(assay_error* error, Body&& body) noexcept {
  try {
    body();
    return ASSAY_OK;
  } catch (const Error& e) {
    return assay_set_error(error, e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return assay_set_error(error, ASSAY_RESOURCE_EXHAUSTED, "out of memory (std::bad_alloc)");
  } catch (const std::invalid_argument& e) {
    return assay_set_error(error, ASSAY_INVALID_ARGUMENT, e.what());
  } catch (const std::exception& e) {
    return assay_set_error(error, ASSAY_UNKNOWN, e.what());
  } catch (...) {
    return assay_set_error(error, ASSAY_UNKNOWN, "threw what is not a std::exception");
  }
}

inline void write(const assay_text_sink* sink, const std::string& text) {
  if (!text.empty()) sink->write(sink->context, text.data(), text.size());
}

inline const char* or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

inline void add_all(const assay_signature_sink* sink, std::uint32_t end,
                    const std::vector<TensorSpec>& specs) {
  for (const TensorSpec& spec : specs) {
    assay_tensor tensor{};
    tensor.name = spec.name.c_str();
    tensor.dtype = static_cast<std::uint32_t>(spec.dtype);
    tensor.rank = static_cast<std::uint32_t>(spec.shape.size());
    tensor.shape = spec.shape.data();
    tensor.memory_kind = ASSAY_MEMORY_HOST;
    tensor.device_id = -1;
    sink->add(sink->context, end, &tensor);
  }
}

inline LoadRequest load_request(const assay_load_request& request) {
  LoadRequest out;
  out.configs = Document(*request.configs);
  out.compile_result = Document(*request.compile_result);
  out.artifact_folder.assign(request.artifact_folder.data, request.artifact_folder.size);
  out.batch_size = request.batch_size;
  out.device_ids.assign(request.device_ids, request.device_ids + request.device_count);
  out.cpus.assign(request.cpus, request.cpus + request.cpu_count);
  out.numa_node = request.numa_node;
  return out;
}

inline void send(const assay_probe_sink* sink, const ProbeResult& result) {
  assay_availability availability{};
  availability.struct_size = sizeof availability;
  availability.available = result.available ? 1 : 0;
  availability.reason = or_null(result.reason);
  availability.driver_version = or_null(result.driver_version);
  availability.sdk_version = or_null(result.sdk_version);
  sink->set_availability(sink->context, &availability);
  for (const Device& from : result.devices) {
    assay_device device{};
    device.struct_size = sizeof device;
    device.id = from.id;
    device.name = from.name.c_str();
    device.serial = or_null(from.serial);
    device.numa_node = from.numa_node;
    device.memory_bytes = from.memory_bytes;
    sink->add_device(sink->context, &device);
  }
}

template <typename Backend>
struct CompilerHolder {
  Backend backend;
  std::string hardware_type;
};

template <typename Backend>
struct RuntimeHolder {
  // Throws unless a model is loaded.
  Backend& loaded() {
    if (!is_loaded) throw Error(ASSAY_FAILED_PRECONDITION, "nothing is loaded");
    return backend;
  }
  void close() {
    if (std::exchange(is_closed, true)) return;
    is_loaded = false;
    backend.close();
  }

  Backend backend;
  Signature signature;
  std::int64_t batch_size = 0;
  bool is_loaded = false;
  bool is_closed = false;
};

template <typename Backend>
struct CompileTable {
  using Holder = CompilerHolder<Backend>;
  static Holder& holder(assay_compiler* compiler) { return *reinterpret_cast<Holder*>(compiler); }

  static std::int32_t create(const assay_host* host, assay_compiler** compiler,
                             assay_error* error) {
    return guarded(error, [&] {
      auto made = std::make_unique<Holder>();
      Access::attach(made->backend, host);
      *compiler = reinterpret_cast<assay_compiler*>(made.release());
    });
  }
  static void destroy(assay_compiler* compiler) { delete &holder(compiler); }

  static std::int32_t get_traits(assay_compiler* compiler, assay_compile_traits* traits,
                                 assay_error* error) {
    return guarded(error, [&] {
      Holder& self = holder(compiler);
      self.hardware_type = self.backend.hardware_type();
      traits->need_reload = self.backend.need_reload() ? 1 : 0;
      traits->need_quant = self.backend.need_quant() ? 1 : 0;
      traits->hardware_type = self.hardware_type.c_str();
    });
  }
  static std::int32_t compile(assay_compiler* compiler, const assay_compile_request* request,
                              const assay_text_sink* result, assay_error* error) {
    return guarded(error, [&] {
      DataLoader loader(*request->loader);
      CompileJob job(*request);
      write(result, holder(compiler).backend.compile(Document(*request->configs), loader, job));
    });
  }
  static std::int32_t get_interact_profile(assay_compiler* compiler, const assay_document* configs,
                                           const assay_text_sink* profile, assay_error* error) {
    return guarded(error, [&] {
      write(profile, holder(compiler).backend.get_interact_profile(Document(*configs)));
    });
  }
  static std::int32_t pre_optimize(assay_compiler* compiler, const assay_document* configs,
                                   const char* folder, const assay_text_sink* new_configs,
                                   assay_error* error) {
    return guarded(error, [&] {
      const auto changed = holder(compiler).backend.pre_optimize(Document(*configs), folder);
      if (changed) write(new_configs, *changed);
    });
  }
  static std::int32_t get_best_batch_size(assay_compiler* compiler, const assay_int64_sink* sizes,
                                          assay_error* error) {
    return guarded(error, [&] {
      const auto best = holder(compiler).backend.get_best_batch_size();
      if (best) sizes->write(sizes->context, best->data(), best->size());
    });
  }

  static constexpr assay_compile_table make() {
    assay_compile_table table{};
    table.struct_size = sizeof table;
    table.create = create;
    table.destroy = destroy;
    table.get_traits = get_traits;
    table.compile = compile;
    table.get_interact_profile = get_interact_profile;
    table.pre_optimize = pre_optimize;
    table.get_best_batch_size = get_best_batch_size;
    return table;
  }
};

// Told apart as template arguments: comparing the addresses is no constant expression under GCC's
// undefined-behaviour sanitizer.
template <auto kA, auto kB>
inline constexpr bool kSameFunction = std::is_same_v<std::integral_constant<decltype(kA), kA>,
                                                     std::integral_constant<decltype(kB), kB>>;

template <typename Backend>
struct RuntimeTable {
  using Holder = RuntimeHolder<Backend>;
  static constexpr bool kAsync = std::is_base_of_v<AsyncRuntime, Backend>;
  static constexpr bool kProbes = !kSameFunction<&Backend::probe, &RuntimeBackend::probe>;
  static constexpr bool kClaims = !kSameFunction<&Backend::benchmark, &RuntimeBackend::benchmark>;
  static Holder& holder(assay_runtime* runtime) { return *reinterpret_cast<Holder*>(runtime); }

  static std::int32_t create(const assay_host* host, assay_runtime** runtime, assay_error* error) {
    return guarded(error, [&] {
      auto made = std::make_unique<Holder>();
      Access::attach(made->backend, host);
      *runtime = reinterpret_cast<assay_runtime*>(made.release());
    });
  }
  static void destroy(assay_runtime* runtime) {
    HostError ignored;  // destroy cannot report; close can, and comes first
    guarded(&ignored.error, [&] { holder(runtime).close(); });
    delete &holder(runtime);
  }
  static std::int32_t version(assay_runtime* runtime, const assay_text_sink* version,
                              assay_error* error) {
    return guarded(error, [&] { write(version, holder(runtime).backend.version()); });
  }
  static std::int32_t load(assay_runtime* runtime, const assay_load_request* request,
                           assay_error* error) {
    return guarded(error, [&] {
      Holder& self = holder(runtime);
      if (self.is_closed) throw Error(ASSAY_FAILED_PRECONDITION, "load after close");
      self.is_loaded = false;
      self.backend.load(load_request(*request));
      self.signature = self.backend.signature();
      self.batch_size = self.backend.get_loaded_batch_size().value_or(request->batch_size);
      self.is_loaded = true;
    });
  }
  static std::int32_t get_loaded_batch_size(assay_runtime* runtime, std::int64_t* batch_size,
                                            assay_error* error) {
    return guarded(error, [&] {
      holder(runtime).loaded();
      *batch_size = holder(runtime).batch_size;
    });
  }
  static std::int32_t describe(assay_runtime* runtime, const assay_signature_sink* sink,
                               assay_error* error) {
    return guarded(error, [&] {
      holder(runtime).loaded();
      add_all(sink, ASSAY_INPUT, holder(runtime).signature.inputs);
      add_all(sink, ASSAY_OUTPUT, holder(runtime).signature.outputs);
    });
  }
  static std::int32_t get_traits(assay_runtime* runtime, assay_runtime_traits* traits,
                                 assay_error* error) {
    return guarded(error, [&] {
      Backend& backend = holder(runtime).loaded();
      traits->thread_rule = static_cast<std::uint32_t>(backend.thread_rule());
      traits->qs_mode_supported = backend.is_qs_mode_supported() ? 1 : 0;
      if constexpr (kAsync) {
        traits->max_in_flight = backend.max_in_flight();
        traits->can_cancel = backend.can_cancel() ? 1 : 0;
      }
    });
  }
  static std::int32_t infer(assay_runtime* runtime, const assay_infer_request* request,
                            assay_error* error) {
    return guarded(error, [&] {
      Holder& self = holder(runtime);
      Outputs outputs(*request->outputs, self.signature.outputs);
      self.loaded().predict(Inputs(request->inputs, request->input_count), outputs);
    });
  }
  static std::int32_t close(assay_runtime* runtime, assay_error* error) {
    return guarded(error, [&] { holder(runtime).close(); });
  }

  static std::int32_t probe(const assay_host* /*host*/, const assay_probe_sink* sink,
                            assay_error* error) {
    return guarded(error, [&] { send(sink, Backend::probe()); });
  }
  static std::int32_t recover(assay_runtime* runtime, assay_error* error) {
    return guarded(error, [&] { holder(runtime).loaded().recover(); });
  }
  static std::int32_t generate_qs_config(assay_runtime* runtime, const assay_text_sink* config,
                                         assay_error* error) {
    return guarded(error, [&] { write(config, holder(runtime).loaded().generate_qs_config()); });
  }
  static std::int32_t benchmark(assay_runtime* runtime, const assay_data_loader* loader,
                                const assay_text_sink* result, assay_error* error) {
    return guarded(error, [&] {
      DataLoader samples(*loader);
      write(result, holder(runtime).loaded().benchmark(samples));
    });
  }

  // A call whose completion was moved from is accepted: what is thrown after that is reported by
  // whoever owns the completion.
  static std::int32_t submit(assay_runtime* runtime, const assay_submit_request* request,
                             assay_error* error) {
    Completion completion(*request);
    const std::int32_t code = guarded(error, [&] {
      Holder& self = holder(runtime);
      self.loaded().submit(Inputs(request->inputs, request->input_count),
                           Outputs(*request->outputs, self.signature.outputs), completion);
    });
    if (!completion.pending()) return ASSAY_OK;
    Access::disarm(completion);
    if (code != ASSAY_OK) return code;
    return assay_set_error(error, ASSAY_INTERNAL, "submit neither accepted nor refused the call");
  }
  static std::int32_t cancel(assay_runtime* runtime, std::uint64_t ticket, assay_error* error) {
    return guarded(error, [&] {
      if (holder(runtime).loaded().cancel(ticket)) return;
      throw Error(ASSAY_NOT_FOUND, "no such call is on its way");
    });
  }

  static constexpr assay_runtime_table make() {
    assay_runtime_table table{};
    table.struct_size = sizeof table;
    table.create = create;
    table.destroy = destroy;
    table.version = version;
    table.load = load;
    table.get_loaded_batch_size = get_loaded_batch_size;
    table.describe = describe;
    table.get_traits = get_traits;
    table.infer = infer;
    table.close = close;
    if constexpr (kProbes) table.probe = probe;
    table.recover = recover;
    if constexpr (kAsync) {
      table.submit = submit;
      table.cancel = cancel;
    }
    table.generate_qs_config = generate_qs_config;
    if constexpr (kClaims) table.benchmark = benchmark;
    return table;
  }
};

template <typename CompileClass, typename RuntimeClass>
struct Plugin {
  static_assert(std::is_base_of_v<CompileBackend, CompileClass>,
                "the first class must derive from assay::backend::CompileBackend");
  static_assert(std::is_base_of_v<RuntimeBackend, RuntimeClass>,
                "the second class must derive from assay::backend::RuntimeBackend");

  static std::int32_t enter(const assay_host* host, const assay_plugin** plugin,
                            assay_error* error) noexcept {
    static constexpr assay_compile_table kCompile = CompileTable<CompileClass>::make();
    static constexpr assay_runtime_table kRuntime = RuntimeTable<RuntimeClass>::make();
    static constexpr assay_plugin kPlugin = {sizeof(assay_plugin),
                                             ASSAY_BACKEND_ABI_MAJOR,
                                             ASSAY_BACKEND_ABI_MINOR,
                                             ASSAY_BACKEND_ABI_MINOR_OLDEST,
                                             &kCompile,
                                             &kRuntime,
                                             &RuntimeClass::get_extension};
    *plugin = nullptr;
    const std::int32_t code = assay_check_host(host, error);
    if (code == ASSAY_OK) *plugin = &kPlugin;
    return code;
  }
};

}  // namespace detail ASSAY_HIDDEN_

inline void* Outputs::allocate(std::size_t index, const std::int64_t* shape, std::size_t rank) {
  if (index >= specs_->size()) {
    throw Error(ASSAY_OUT_OF_RANGE, "there is no output " + std::to_string(index));
  }
  const TensorSpec& spec = (*specs_)[index];
  assay_tensor tensor{};
  tensor.name = spec.name.c_str();
  tensor.dtype = static_cast<std::uint32_t>(spec.dtype);
  tensor.rank = static_cast<std::uint32_t>(rank);
  tensor.shape = shape;
  tensor.size_bytes = size_of(spec.dtype);
  for (std::size_t i = 0; i < rank; ++i) {
    tensor.size_bytes *= static_cast<std::uint64_t>(shape[i]);
  }
  tensor.memory_kind = ASSAY_MEMORY_HOST;
  tensor.device_id = -1;
  detail::HostError failure;
  failure.check(alloc_(context_, static_cast<std::uint32_t>(index), &tensor, &failure.error));
  return tensor.data;
}

inline Inputs DataLoader::read(std::uint64_t first, std::uint64_t count) {
  const assay_tensor* tensors = nullptr;
  std::uint64_t tensor_count = 0;
  detail::HostError failure;
  failure.check(
      loader_->read(loader_->context, first, count, &tensors, &tensor_count, &failure.error));
  return {tensors, tensor_count};
}

template <typename Runtime>
Runtime& runtime_of(assay_runtime* handle) {
  return reinterpret_cast<detail::RuntimeHolder<Runtime>*>(handle)->backend;
}

}  // namespace backend
}  // namespace assay

#endif  // ASSAY_DETAIL_PLUGIN_HPP_
