/* A backend in plain C on nothing but the required slots, compiled against headers of another time.
 * y: INT8 [1] = x: INT8 [1]. version() tells what it saw of the host. */

#include <string.h>

#include "assay/backend.h"

#ifdef ASSAY_TEST_NEWER
static const char* host_has_future_service = "unknown";
static const char* load_has_future_field = "unknown";
#endif

static int32_t create_compiler(const assay_host* host, assay_compiler** compiler,
                               assay_error* error) {
  static char object;
  (void)host;
  (void)error;
  *compiler = (assay_compiler*)&object;
  return ASSAY_OK;
}
static void destroy_compiler(assay_compiler* compiler) { (void)compiler; }

static int32_t get_compile_traits(assay_compiler* compiler, assay_compile_traits* traits,
                                  assay_error* error) {
  (void)compiler;
  (void)error;
  traits->hardware_type = "TIME";
  return ASSAY_OK;
}

static int32_t compile(assay_compiler* compiler, const assay_compile_request* request,
                       const assay_text_sink* result, assay_error* error) {
  (void)compiler;
  (void)request;
  (void)error;
  result->write(result->context, "{}", 2);
  return ASSAY_OK;
}

static int32_t create_runtime(const assay_host* host, assay_runtime** runtime, assay_error* error) {
  static char object;
  (void)error;
  *runtime = (assay_runtime*)&object;
#ifdef ASSAY_TEST_NEWER
  host_has_future_service = ASSAY_HAS(host, future_service) ? "yes" : "no";
#else
  (void)host;
#endif
  return ASSAY_OK;
}
static void destroy_runtime(assay_runtime* runtime) { (void)runtime; }

static int32_t version(assay_runtime* runtime, const assay_text_sink* sink, assay_error* error) {
  (void)runtime;
  (void)error;
#ifdef ASSAY_TEST_NEWER
  sink->write(sink->context, host_has_future_service, strlen(host_has_future_service));
  sink->write(sink->context, ",", 1);
  sink->write(sink->context, load_has_future_field, strlen(load_has_future_field));
#else
  sink->write(sink->context, "older", 5);
#endif
  return ASSAY_OK;
}

static int32_t load(assay_runtime* runtime, const assay_load_request* request, assay_error* error) {
  (void)runtime;
  (void)error;
#ifdef ASSAY_TEST_NEWER
  load_has_future_field = ASSAY_REACHES(request, future_field) ? "yes" : "no";
#else
  (void)request;
#endif
  return ASSAY_OK;
}

static int32_t get_loaded_batch_size(assay_runtime* runtime, int64_t* batch_size,
                                     assay_error* error) {
  (void)runtime;
  (void)error;
  *batch_size = 1;
  return ASSAY_OK;
}

static int32_t describe(assay_runtime* runtime, const assay_signature_sink* sink,
                        assay_error* error) {
  static const int64_t shape[] = {1};
  assay_tensor tensor;
  (void)runtime;
  (void)error;
  memset(&tensor, 0, sizeof tensor);
  tensor.dtype = ASSAY_INT8;
  tensor.rank = 1;
  tensor.shape = shape;
  tensor.name = "x";
  sink->add(sink->context, ASSAY_INPUT, &tensor);
  tensor.name = "y";
  sink->add(sink->context, ASSAY_OUTPUT, &tensor);
  return ASSAY_OK;
}

static int32_t get_runtime_traits(assay_runtime* runtime, assay_runtime_traits* traits,
                                  assay_error* error) {
  (void)runtime;
  (void)error;
  traits->thread_rule = ASSAY_THREADS_ONE_CALL;
#ifdef ASSAY_TEST_NEWER
  if (ASSAY_REACHES(traits, future_trait)) traits->future_trait = 1;
#endif
  return ASSAY_OK;
}

static int32_t infer(assay_runtime* runtime, const assay_infer_request* request,
                     assay_error* error) {
  assay_tensor output = request->inputs[0];
  int32_t code;
  (void)runtime;
  output.name = "y";
  output.data = NULL;
  code = request->outputs->alloc_output(request->outputs->context, 0, &output, error);
  if (code == ASSAY_OK) memcpy(output.data, request->inputs[0].data, 1);
  return code;
}

static int32_t close_runtime(assay_runtime* runtime, assay_error* error) {
  (void)runtime;
  (void)error;
  return ASSAY_OK;
}

int32_t ASSAY_BACKEND_ENTRY(const assay_host* host, const assay_plugin** plugin,
                            assay_error* error) {
  static const assay_compile_table kCompile = {
      .struct_size = sizeof(assay_compile_table),
      .create = create_compiler,
      .destroy = destroy_compiler,
      .get_traits = get_compile_traits,
      .compile = compile,
  };
  static const assay_runtime_table kRuntime = {
      .struct_size = sizeof(assay_runtime_table),
      .create = create_runtime,
      .destroy = destroy_runtime,
      .version = version,
      .load = load,
      .get_loaded_batch_size = get_loaded_batch_size,
      .describe = describe,
      .get_traits = get_runtime_traits,
      .infer = infer,
      .close = close_runtime,
  };
  static const assay_plugin kPlugin = {
      .struct_size = sizeof(assay_plugin),
      .abi_major = ASSAY_BACKEND_ABI_MAJOR,
      .abi_minor = ASSAY_BACKEND_ABI_MINOR,
      .abi_minor_oldest = ASSAY_BACKEND_ABI_MINOR_OLDEST,
      .compile = &kCompile,
      .runtime = &kRuntime,
  };
#ifdef ASSAY_TEST_SKIP_CHECK
  /* A plugin that forgets to check: the host still does. */
  (void)error;
  (void)host;
#else
  const int32_t code = assay_check_host(host, error);
  *plugin = NULL;
  if (code != ASSAY_OK) return code;
#endif
  *plugin = &kPlugin;
  return ASSAY_OK;
}
