#ifndef ASSAY_BACKEND_H_
#define ASSAY_BACKEND_H_

/*
 * The backend boundary: what a shared library exports so that Assay can evaluate the hardware
 * behind it. Pure C11. C++ authors derive from the classes in backend.hpp, which fill everything in
 * here.
 *
 * VERSION 0 IS A DRAFT and may change; docs/reference/abi-changelog.md lists the changes.
 *
 * One symbol, assay_backend_v<major>, hands out an assay_plugin with two tables of functions:
 *   compile   turns a model into an artifact:    create -> ... -> compile -> destroy
 *   runtime   runs an artifact on the hardware:  create -> load -> infer ... -> close -> destroy
 *
 * Rules that hold everywhere, unless a function says otherwise:
 *  - Growable structs start with struct_size, the size their maker compiled with. They are only
 * ever appended to. A field is there when the size reaches its end: use ASSAY_HAS, never ==. In a
 * struct that the caller lends to be filled, struct_size is the room that may be written.
 *  - Fixed structs (assay_text, assay_tensor, assay_error, assay_option) never change within a
 * major.
 *  - Fixed-width integers and pointers only. Flags are uint32_t, 0 or 1. Text is UTF-8.
 *  - Nobody frees what the other side made. What is passed in is borrowed until the call returns;
 *    text goes out through a sink, which copies it before it returns.
 *  - A function that can fail returns an ASSAY_* code and, when that is not ASSAY_OK, describes the
 *    failure in *error (never NULL). No C++ exception and no longjmp crosses.
 *  - Unless a thread rule says more, functions on one object are called one at a time, from any
 *    thread; functions on different objects may run at once.
 *  - A plugin's library is never unloaded; its process exits.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions ------------------------------------------------------------------------------- */

/* Another major is another symbol. Two sides of one major work together when the minor of each is
 * at least the oldest that the other still accepts; both sides check. */
#define ASSAY_BACKEND_ABI_MAJOR 0
#define ASSAY_BACKEND_ABI_MINOR 1
#define ASSAY_BACKEND_ABI_MINOR_OLDEST 1
#define ASSAY_BACKEND_ENTRY assay_backend_v0
#define ASSAY_BACKEND_ENTRY_NAME "assay_backend_v0"

/* True when the struct at `pointer` is large enough to have `field`. */
#define ASSAY_REACHES(pointer, field)                                           \
  ((uint64_t)((const char*)(&(pointer)->field + 1) - (const char*)(pointer)) <= \
   (uint64_t)(pointer)->struct_size)

/* True when the table at `pointer` is large enough to have `field` and the field is set. */
#define ASSAY_HAS(pointer, field) (ASSAY_REACHES(pointer, field) && (pointer)->field != NULL)

/* ---- Numbers -------------------------------------------------------------------------------- */

/* Return codes: the gRPC canonical codes. Choose by what the caller should do. */
#define ASSAY_OK INT32_C(0)
#define ASSAY_CANCELLED INT32_C(1)
#define ASSAY_UNKNOWN INT32_C(2)
#define ASSAY_INVALID_ARGUMENT INT32_C(3) /* wrong in any state: fix the input */
#define ASSAY_DEADLINE_EXCEEDED INT32_C(4)
#define ASSAY_NOT_FOUND INT32_C(5)
#define ASSAY_ALREADY_EXISTS INT32_C(6)
#define ASSAY_PERMISSION_DENIED INT32_C(7)
#define ASSAY_RESOURCE_EXHAUSTED INT32_C(8)  /* memory, queue or device full: later may work */
#define ASSAY_FAILED_PRECONDITION INT32_C(9) /* right request, wrong state */
#define ASSAY_ABORTED INT32_C(10)
#define ASSAY_OUT_OF_RANGE INT32_C(11)
#define ASSAY_UNIMPLEMENTED INT32_C(12) /* not supported by this backend */
#define ASSAY_INTERNAL INT32_C(13)      /* a bug */
#define ASSAY_UNAVAILABLE INT32_C(14)   /* the device is not there now */
#define ASSAY_DATA_LOSS INT32_C(15)     /* bytes are corrupt or truncated */

/* Element types. Numbers are never reused. */
#define ASSAY_FLOAT64 UINT32_C(1)
#define ASSAY_FLOAT32 UINT32_C(2)
#define ASSAY_FLOAT16 UINT32_C(3)  /* IEEE binary16 */
#define ASSAY_BFLOAT16 UINT32_C(4) /* upper half of binary32 */
#define ASSAY_FLOAT8E4M3 UINT32_C(5)
#define ASSAY_INT64 UINT32_C(6)
#define ASSAY_INT32 UINT32_C(7)
#define ASSAY_INT16 UINT32_C(8)
#define ASSAY_INT8 UINT32_C(9)
#define ASSAY_UINT8 UINT32_C(10)
#define ASSAY_BOOL UINT32_C(11) /* one byte, 0 or 1 */
#define ASSAY_UINT16 UINT32_C(12)
#define ASSAY_UINT32 UINT32_C(13)
#define ASSAY_UINT64 UINT32_C(14)

/* Kinds of memory. Only contiguous host memory crosses the core tables; the rest is extensions'. */
#define ASSAY_MEMORY_HOST UINT32_C(1)

/* Kinds of option value. */
#define ASSAY_OPTION_NULL UINT32_C(1)
#define ASSAY_OPTION_BOOL UINT32_C(2)  /* "true" or "false" */
#define ASSAY_OPTION_INT UINT32_C(3)   /* decimal */
#define ASSAY_OPTION_FLOAT UINT32_C(4) /* shortest decimal that reads back as the same double */
#define ASSAY_OPTION_TEXT UINT32_C(5)

/* Thread rules of infer on one runtime object. */
#define ASSAY_THREADS_ONE_CALL UINT32_C(1) /* one call at a time */
#define ASSAY_THREADS_ANY UINT32_C(2)      /* any number of calls at once */

/* Levels of log. */
#define ASSAY_LOG_DEBUG UINT32_C(1)
#define ASSAY_LOG_INFO UINT32_C(2)
#define ASSAY_LOG_WARNING UINT32_C(3)
#define ASSAY_LOG_ERROR UINT32_C(4)

/* Which end of the model a tensor of a signature is. */
#define ASSAY_INPUT UINT32_C(1)
#define ASSAY_OUTPUT UINT32_C(2)

/* ---- Fixed structs -------------------------------------------------------------------------- */

/* Borrowed text. data[size] is 0 in text that the host passes; data is never NULL there. */
typedef struct assay_text {
  const char* data;
  uint64_t size;
} assay_text;

/* One tensor, or its description (data NULL). */
typedef struct assay_tensor {
  const char* name;     /* ends with 0 */
  uint32_t dtype;       /* ASSAY_FLOAT32, ... */
  uint32_t rank;        /* 0: a scalar, one element */
  const int64_t* shape; /* rank dimensions, outermost first; -1 is free, in signatures only */
  const int64_t*
      strides;          /* bytes from one index to the next; NULL: contiguous, row-major. The host
                           always passes NULL, and refuses others unless an extension allows them */
  uint64_t size_bytes;  /* elements * size of dtype */
  void* data;           /* a plugin never writes to an input */
  uint32_t memory_kind; /* ASSAY_MEMORY_HOST */
  int32_t device_id;    /* -1 for host memory */
  uint64_t reserved[2]; /* 0 */
} assay_tensor;

/* Where a failing function says why. Lent by the caller; assay_set_error fills it. */
typedef struct assay_error {
  int32_t code;          /* as returned */
  uint32_t reserved;     /* 0 */
  char* message;         /* room for `capacity` bytes; ends with 0; cut when it does not fit */
  uint64_t capacity;     /* at least 1 */
  uint64_t message_size; /* bytes written, without the 0 */
} assay_error;

/* One leaf of a JSON document, so that a plugin can read it without a JSON parser. */
typedef struct assay_option {
  const char* name;  /* keys and list positions joined by dots: "model_info.input_shape.x.0" */
  const char* value; /* never NULL; "" for null */
  uint32_t kind;     /* ASSAY_OPTION_* */
  uint32_t reserved; /* 0 */
} assay_option;

/* ---- What the host lends -------------------------------------------------------------------- */

/* Takes text; pieces written one after another are joined. Copies before it returns. */
typedef struct assay_text_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  void (*write)(void* context, const char* data, uint64_t size);
} assay_text_sink;

/* Takes a list of integers; lists written one after another are joined. */
typedef struct assay_int64_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  void (*write)(void* context, const int64_t* values, uint64_t count);
} assay_int64_sink;

/* A JSON document, whole and as leaves in document order. */
typedef struct assay_document {
  uint32_t struct_size;
  uint32_t reserved;
  assay_text json;
  const assay_option* options;
  uint64_t option_count;
} assay_document;

/* Takes the signature of a loaded model: inputs in order, outputs in order. */
typedef struct assay_signature_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  /* `tensor` has name, dtype, rank and shape; size_bytes and data are ignored. */
  void (*add)(void* context, uint32_t end, const assay_tensor* tensor);
} assay_signature_sink;

/* Gives memory for the outputs of one call. */
typedef struct assay_output_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  /*
   * Asks for output `index` (its place in the signature) once its shape is known. The plugin fills
   * name, dtype, rank, shape, strides (NULL), size_bytes, memory_kind and device_id; the host
   * checks them against the signature and sets data: size_bytes writable bytes, aligned to 64,
   * content undefined, writable until the call returns (infer) or completes (submit). Every output
   * is asked for exactly once per call; one without elements too. Any thread, but one at a time for
   * one request. On failure data is NULL: end the call and return the same code.
   */
  int32_t (*alloc_output)(void* context, uint32_t index, assay_tensor* output, assay_error* error);
} assay_output_sink;

/* Samples: for calibration in compile, for the plugin's own timing in benchmark. */
typedef struct assay_data_loader {
  uint32_t struct_size;
  uint32_t disjoint; /* 1: none of these samples is evaluated */
  void* context;
  uint64_t sample_count; /* 0: there is no data */
  /*
   * Samples [first, first + count) as one batch: every input of the model, in order. The tensors
   * are the host's and stay as they are until the next read or until the surrounding call returns.
   * ASSAY_OUT_OF_RANGE past the end; other codes when the data cannot be read.
   */
  int32_t (*read)(void* context, uint64_t first, uint64_t count, const assay_tensor** tensors,
                  uint64_t* tensor_count, assay_error* error);
} assay_data_loader;

/* What the host offers for the life of the process. Thread-safe. */
typedef struct assay_host {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t abi_minor_oldest;
  void* context;
  /* A line for the log of the run. Never the way to report a failure. Optional. */
  void (*log)(void* context, uint32_t level, const char* data, uint64_t size);
  /* An extension of the host by name, or NULL. The struct behind it is named by the extension and
   * lives as long as the process. Optional. */
  const void* (*get_extension)(void* context, const char* name);
} assay_host;

/* ---- compile -------------------------------------------------------------------------------- */

typedef struct assay_compiler assay_compiler; /* the plugin's */

typedef struct assay_compile_traits {
  uint32_t struct_size; /* room, stamped by the host */
  uint32_t need_reload; /* 1: the model must be loaded again for another batch size */
  uint32_t need_quant;  /* 1: the backend quantises while it compiles */
  uint32_t reserved;
  const char* hardware_type; /* "CPU": equal to the manifest's; the compiler's, until destroy */
} assay_compile_traits;

typedef struct assay_compile_request {
  uint32_t struct_size;
  uint32_t reserved;
  const assay_document* configs; /* {workload, model_info, interact_info} */
  assay_text artifact_folder;    /* an existing empty folder: write the artifact here, nowhere else.
                                    Name its files in the result relative to this folder; it may be
                                    moved before load */
  const assay_data_loader* loader;
  /* Says that the compiler is alive, and how far: done in 0..1, negative when unknown. Call it
   * every few seconds at least. Returns 1 when compile should end with ASSAY_CANCELLED. */
  void* progress_context;
  uint32_t (*progress)(void* context, double done, const char* stage);
} assay_compile_request;

typedef struct assay_compile_table {
  uint32_t struct_size;
  uint32_t reserved;

  /* Required. */
  int32_t (*create)(const assay_host* host, assay_compiler** compiler, assay_error* error);
  void (*destroy)(assay_compiler* compiler);
  int32_t (*get_traits)(assay_compiler* compiler, assay_compile_traits* traits, assay_error* error);
  /* Compiles once, for every batch size of the workload; may take hours. `result` is the compile
   * result, a JSON object (docs/reference/boundary.md). */
  int32_t (*compile)(assay_compiler* compiler, const assay_compile_request* request,
                     const assay_text_sink* result, assay_error* error);

  /* Optional, called before compile in this order. */
  /* The questions to ask the user: a JSON list. Nothing written: no questions. */
  int32_t (*get_interact_profile)(assay_compiler* compiler, const assay_document* configs,
                                  const assay_text_sink* profile, assay_error* error);
  /* May write a changed model into `folder` (existing, ends with 0) and describe it: `new_configs`
   * takes the whole configs. Nothing written: they stay. Never changes the original file. */
  int32_t (*pre_optimize)(assay_compiler* compiler, const assay_document* configs,
                          const char* folder, const assay_text_sink* new_configs,
                          assay_error* error);
  /* Batch sizes that replace the workload's. Nothing written: those stay. */
  int32_t (*get_best_batch_size)(assay_compiler* compiler, const assay_int64_sink* batch_sizes,
                                 assay_error* error);
} assay_compile_table;

/* ---- runtime -------------------------------------------------------------------------------- */

typedef struct assay_runtime assay_runtime; /* the plugin's */

typedef struct assay_device {
  uint32_t struct_size;
  int32_t id; /* what load's device_ids take */
  const char* name;
  const char* serial; /* or NULL */
  int32_t numa_node;  /* -1: unknown */
  uint32_t reserved;
  uint64_t memory_bytes; /* 0: unknown */
} assay_device;

typedef struct assay_availability {
  uint32_t struct_size;
  uint32_t available;
  const char* reason;         /* why not, and what to do; NULL when available */
  const char* driver_version; /* or NULL */
  const char* sdk_version;    /* or NULL */
} assay_availability;

typedef struct assay_probe_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  void (*set_availability)(void* context, const assay_availability* availability);
  void (*add_device)(void* context, const assay_device* device);
} assay_probe_sink;

/* How a runtime may be called. Asked for after load. */
typedef struct assay_runtime_traits {
  uint32_t struct_size;       /* room, stamped by the host */
  uint32_t thread_rule;       /* ASSAY_THREADS_*, of infer */
  uint32_t max_in_flight;     /* of submit; 0 when there is no submit */
  uint32_t can_cancel;        /* 1: cancel may end what was submitted */
  uint32_t qs_mode_supported; /* 1: generate_qs_config works */
} assay_runtime_traits;

typedef struct assay_load_request {
  uint32_t struct_size;
  int32_t numa_node;                    /* of the host memory to use; -1: any */
  const assay_document* configs;        /* as compile got them */
  const assay_document* compile_result; /* as compile returned it */
  assay_text artifact_folder;           /* where the artifact lies now */
  int64_t batch_size;
  const int32_t* device_ids; /* use these and no others; none: the backend's default */
  uint64_t device_count;
  const int32_t* cpus; /* CPUs this process may use: size thread pools by them */
  uint64_t cpu_count;
} assay_load_request;

/* One call. inputs[i] is the i-th input of the signature, checked by the host before: name, dtype,
 * rank, shape, byte size; contiguous host memory, aligned at least to its elements. */
typedef struct assay_infer_request {
  uint32_t struct_size;
  uint32_t reserved;
  const assay_tensor* inputs;
  uint64_t input_count;
  const assay_output_sink* outputs;
} assay_infer_request;

/* One call that completes later. The structs and their arrays are lent until submit returns; the
 * inputs' data stays untouched, and outputs->alloc_output works, until completion: copy the sink.
 */
typedef struct assay_submit_request {
  uint32_t struct_size;
  uint32_t reserved;
  const assay_tensor* inputs;
  uint64_t input_count;
  const assay_output_sink* outputs;
  uint64_t ticket; /* names this call in complete and cancel */
  void* completion_context;
  /*
   * Reports the end of the call, exactly once, when and only when submit returned ASSAY_OK: the
   * bytes of all outputs are visible on the host (or `code` says why not; `message` may be NULL).
   * Any thread, also inside submit. The host may call submit from inside it.
   */
  void (*complete)(void* context, uint64_t ticket, int32_t code, const char* message);
} assay_submit_request;

typedef struct assay_runtime_table {
  uint32_t struct_size;
  uint32_t reserved;

  /* Required. */
  int32_t (*create)(const assay_host* host, assay_runtime** runtime, assay_error* error);
  /* Frees the object, closing it first when it is still open. */
  void (*destroy)(assay_runtime* runtime);
  /* Versions of the runtime, driver and firmware, as text for the report. Before or after load. */
  int32_t (*version)(assay_runtime* runtime, const assay_text_sink* version, assay_error* error);
  /* Gets ready to infer; replaces what was loaded before. After a failure nothing is loaded. */
  int32_t (*load)(assay_runtime* runtime, const assay_load_request* request, assay_error* error);
  /* The batch size that is loaded, which may differ from the one asked for: Assay feeds this one.
   */
  int32_t (*get_loaded_batch_size)(assay_runtime* runtime, int64_t* batch_size, assay_error* error);
  /* What the loaded model takes and gives, from the artifact itself, not from the configs. */
  int32_t (*describe)(assay_runtime* runtime, const assay_signature_sink* signature,
                      assay_error* error);
  int32_t (*get_traits)(assay_runtime* runtime, assay_runtime_traits* traits, assay_error* error);
  /* Runs the model once. Returns when the bytes of all outputs are visible on the host. Keeps no
   * pointer. Threads: traits.thread_rule. In the timed loop: nothing else is called meanwhile. */
  int32_t (*infer)(assay_runtime* runtime, const assay_infer_request* request, assay_error* error);
  /* Ends gracefully: every submitted call has completed before it returns, the device is given
   * back. Only destroy may follow. */
  int32_t (*close)(assay_runtime* runtime, assay_error* error);

  /* Optional. */
  /* Can this machine run the backend, and on what? Called in a process of its own, without an
   * object; acquires nothing. A negative answer is availability 0 and ASSAY_OK. */
  int32_t (*probe)(const assay_host* host, const assay_probe_sink* sink, assay_error* error);
  /* After an infer or a completion that failed: makes the loaded state usable again, or fails. */
  int32_t (*recover)(assay_runtime* runtime, assay_error* error);
  /* Starts a call and returns without waiting for the device. ASSAY_RESOURCE_EXHAUSTED when
   * max_in_flight calls are on their way. Any number of threads. */
  int32_t (*submit)(assay_runtime* runtime, const assay_submit_request* request,
                    assay_error* error);
  /* Asks for a submitted call to end early: it still completes, with ASSAY_CANCELLED or with what
   * it came to. ASSAY_NOT_FOUND when no such call is on its way. Any thread, not inside complete.
   */
  int32_t (*cancel)(assay_runtime* runtime, uint64_t ticket, assay_error* error);
  /* How a serving runtime should run this backend: a JSON object. */
  int32_t (*generate_qs_config)(assay_runtime* runtime, const assay_text_sink* config,
                                assay_error* error);
  /* The backend's own figures for the loaded batch size, shown as the vendor's claim beside
   * Assay's: a JSON object, or a list of several. Of its members "qps" (samples per second),
   * "latency_ms"
   * {"mean", "p99"}, "batch_size" (the loaded one when absent) and "notes" (a list of texts) are
   * compared and explained, the others shown as they are. */
  int32_t (*benchmark)(assay_runtime* runtime, const assay_data_loader* loader,
                       const assay_text_sink* result, assay_error* error);
} assay_runtime_table;

/* ---- plugin --------------------------------------------------------------------------------- */

/* Constant, lives as long as the process. */
typedef struct assay_plugin {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t abi_minor_oldest;
  const assay_compile_table* compile; /* required */
  const assay_runtime_table* runtime; /* required */
  /* An extension by name ("assay.timing/1", see extensions.h), or NULL. Optional; any thread. */
  const void* (*get_extension)(const char* name);
} assay_plugin;

/*
 * The one exported symbol. Called once, before anything else. The plugin checks the host's versions
 * first (assay_check_host) and refuses with ASSAY_FAILED_PRECONDITION naming both; `host` stays
 * valid for the life of the process. Acquires nothing, starts no thread.
 */
typedef int32_t (*assay_backend_entry)(const assay_host* host, const assay_plugin** plugin,
                                       assay_error* error);
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int32_t
ASSAY_BACKEND_ENTRY(const assay_host* host, const assay_plugin** plugin, assay_error* error);

/* ---- Conveniences --------------------------------------------------------------------------- */

/* Fills *error, cutting `message` (may be NULL) to the room there is, never inside a UTF-8
 * sequence. Returns `code`: return assay_set_error(error, ASSAY_NOT_FOUND, "no such device"); */
static inline int32_t assay_set_error(assay_error* error, int32_t code, const char* message) {
  uint64_t size = 0;
  error->code = code;
  while (message != NULL && message[size] != '\0' && size + 1 < error->capacity) {
    error->message[size] = message[size];
    ++size;
  }
  if (message != NULL && message[size] != '\0') {
    while (size > 0 && ((unsigned char)message[size] & 0xC0U) == 0x80U) --size;
  }
  error->message[size] = '\0';
  error->message_size = size;
  return code;
}

/* Do two sides of one major accept each other? 1 or 0. */
static inline int32_t assay_versions_fit(uint32_t minor, uint32_t minor_oldest,
                                         uint32_t other_minor, uint32_t other_minor_oldest) {
  return other_minor >= minor_oldest && minor >= other_minor_oldest;
}

/* The first thing an entry does: refuses a host that this plugin cannot work with, naming both. */
static inline int32_t assay_check_host(const assay_host* host, assay_error* error) {
  char message[192];
  if (!ASSAY_REACHES(host, context)) {
    return assay_set_error(error, ASSAY_FAILED_PRECONDITION, "the host's table is too small");
  }
  if (host->abi_major == ASSAY_BACKEND_ABI_MAJOR &&
      assay_versions_fit(ASSAY_BACKEND_ABI_MINOR, ASSAY_BACKEND_ABI_MINOR_OLDEST, host->abi_minor,
                         host->abi_minor_oldest)) {
    return ASSAY_OK;
  }
  (void)snprintf(message, sizeof message,
                 "the plugin speaks boundary version %u.%u (oldest it accepts: %u.%u), this Assay "
                 "speaks %u.%u (oldest: %u.%u)",
                 (unsigned)ASSAY_BACKEND_ABI_MAJOR, (unsigned)ASSAY_BACKEND_ABI_MINOR,
                 (unsigned)ASSAY_BACKEND_ABI_MAJOR, (unsigned)ASSAY_BACKEND_ABI_MINOR_OLDEST,
                 (unsigned)host->abi_major, (unsigned)host->abi_minor, (unsigned)host->abi_major,
                 (unsigned)host->abi_minor_oldest);
  return assay_set_error(error, ASSAY_FAILED_PRECONDITION, message);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ASSAY_BACKEND_H_ */
