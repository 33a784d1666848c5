#include "host/test_plugin.h"

#include <cstring>

namespace assay::host::testing {
namespace {

Script& script() { return Script::get(); }

std::int32_t answer(const char* call, assay_error* error) {
  script().calls.emplace_back(call);
  if (script().code == ASSAY_OK) return ASSAY_OK;
  return assay_set_error(error, script().code, script().message.c_str());
}

std::int32_t write_text(const char* call, const assay_text_sink* sink, assay_error* error) {
  // In two pieces: the host has to join them.
  const std::string& text = script().text;
  const std::size_t half = text.size() / 2;
  sink->write(sink->context, text.data(), half);
  sink->write(sink->context, text.data() + half, text.size() - half);
  return answer(call, error);
}

char object;  // the compiler and the runtime are its address

std::int32_t create_compiler(const assay_host*, assay_compiler** compiler, assay_error* error) {
  *compiler = reinterpret_cast<assay_compiler*>(&object);
  return answer("create", error);
}
std::int32_t create_runtime(const assay_host*, assay_runtime** runtime, assay_error* error) {
  *runtime = reinterpret_cast<assay_runtime*>(&object);
  return answer("create", error);
}

assay_compile_table compile_table() {
  assay_compile_table table{};
  table.struct_size = sizeof table;
  table.create = create_compiler;
  table.destroy = [](assay_compiler*) { script().calls.emplace_back("destroy"); };
  table.get_traits = [](assay_compiler*, assay_compile_traits* traits, assay_error* error) {
    traits->need_quant = 1;
    traits->hardware_type = "SCRIPT";
    return answer("get_traits", error);
  };
  table.compile = [](assay_compiler*, const assay_compile_request* request,
                     const assay_text_sink* result, assay_error* error) {
    if (script().on_compile) script().on_compile(*request, error);
    return write_text("compile", result, error);
  };
  table.get_interact_profile = [](assay_compiler*, const assay_document*,
                                  const assay_text_sink* profile, assay_error* error) {
    return write_text("get_interact_profile", profile, error);
  };
  table.pre_optimize = [](assay_compiler*, const assay_document*, const char*,
                          const assay_text_sink* configs, assay_error* error) {
    return write_text("pre_optimize", configs, error);
  };
  table.get_best_batch_size = [](assay_compiler*, const assay_int64_sink* sink,
                                 assay_error* error) {
    if (script().write_batch_sizes) {
      sink->write(sink->context, script().batch_sizes.data(), script().batch_sizes.size());
    }
    return answer("get_best_batch_size", error);
  };
  return table;
}

assay_runtime_table runtime_table() {
  assay_runtime_table table{};
  table.struct_size = sizeof table;
  table.create = create_runtime;
  table.destroy = [](assay_runtime*) { script().calls.emplace_back("destroy"); };
  table.version = [](assay_runtime*, const assay_text_sink* sink, assay_error* error) {
    return write_text("version", sink, error);
  };
  table.load = [](assay_runtime*, const assay_load_request* request, assay_error* error) {
    if (script().on_load) script().on_load(*request);
    return answer("load", error);
  };
  table.get_loaded_batch_size = [](assay_runtime*, std::int64_t* size, assay_error*) {
    *size = script().loaded_batch_size;
    return ASSAY_OK;
  };
  table.describe = [](assay_runtime*, const assay_signature_sink* sink, assay_error*) {
    script().describe(*sink);
    return ASSAY_OK;
  };
  table.get_traits = [](assay_runtime*, assay_runtime_traits* traits, assay_error*) {
    traits->thread_rule = script().thread_rule;
    traits->max_in_flight = script().max_in_flight;
    traits->can_cancel = script().max_in_flight > 0 ? 1 : 0;
    traits->qs_mode_supported = 1;
    return ASSAY_OK;
  };
  table.infer = [](assay_runtime*, const assay_infer_request* request, assay_error* error) {
    return script().infer(*request, error);
  };
  table.close = [](assay_runtime*, assay_error* error) { return answer("close", error); };
  table.recover = [](assay_runtime*, assay_error* error) { return answer("recover", error); };
  table.submit = [](assay_runtime*, const assay_submit_request* request, assay_error* error) {
    return script().submit(*request, error);
  };
  table.cancel = [](assay_runtime*, std::uint64_t, assay_error* error) {
    return answer("cancel", error);
  };
  table.generate_qs_config = [](assay_runtime*, const assay_text_sink* sink, assay_error* error) {
    return write_text("generate_qs_config", sink, error);
  };
  table.benchmark = [](assay_runtime*, const assay_data_loader* loader, const assay_text_sink* sink,
                       assay_error* error) {
    const assay_tensor* tensors = nullptr;
    std::uint64_t count = 0;
    const std::int32_t code =
        loader->read(loader->context, 0, loader->sample_count, &tensors, &count, error);
    return code == ASSAY_OK ? write_text("benchmark", sink, error) : code;
  };
  return table;
}

}  // namespace

Script& Script::get() {
  static Script instance;
  return instance;
}

void Script::reset() {
  Script& self = get();
  self = Script();
  self.compile = compile_table();
  self.runtime = runtime_table();
  self.plugin = {sizeof(assay_plugin),
                 ASSAY_BACKEND_ABI_MAJOR,
                 ASSAY_BACKEND_ABI_MINOR,
                 ASSAY_BACKEND_ABI_MINOR_OLDEST,
                 &self.compile,
                 &self.runtime,
                 nullptr};
  self.describe = describe_xy;
  self.infer = copy_x_to_y;
}

std::int32_t Script::entry(const assay_host* /*host*/, const assay_plugin** plugin,
                           assay_error* error) {
  *plugin = get().give_plugin ? &get().plugin : nullptr;
  if (get().entry_code == ASSAY_OK) return ASSAY_OK;
  return assay_set_error(error, get().entry_code, get().message.c_str());
}

void describe_xy(const assay_signature_sink& sink) {
  const std::int64_t shape[2] = {-1, 3};
  assay_tensor tensor{};
  tensor.dtype = ASSAY_FLOAT32;
  tensor.rank = 2;
  tensor.shape = shape;
  tensor.name = "x";
  sink.add(sink.context, ASSAY_INPUT, &tensor);
  tensor.name = "y";
  sink.add(sink.context, ASSAY_OUTPUT, &tensor);
}

assay_tensor y_of(std::int64_t (&shape)[2], std::int64_t rows) {
  shape[0] = rows;
  shape[1] = 3;
  assay_tensor tensor{};
  tensor.name = "y";
  tensor.dtype = ASSAY_FLOAT32;
  tensor.rank = 2;
  tensor.shape = shape;
  tensor.size_bytes = static_cast<std::uint64_t>(rows) * 12;
  tensor.memory_kind = ASSAY_MEMORY_HOST;
  tensor.device_id = -1;
  return tensor;
}

std::int32_t copy_x_to_y(const assay_infer_request& request, assay_error* error) {
  std::int64_t shape[2];
  assay_tensor y = y_of(shape, request.inputs[0].shape[0]);
  const std::int32_t code = request.outputs->alloc_output(request.outputs->context, 0, &y, error);
  if (code != ASSAY_OK) return code;
  if (y.size_bytes > 0) std::memcpy(y.data, request.inputs[0].data, y.size_bytes);
  return ASSAY_OK;
}

}  // namespace assay::host::testing
