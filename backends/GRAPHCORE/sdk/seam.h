/* What stands between this backend and the vendor's runtime libraries: a module, in C, opened at
 * run time from the backend's folder. The backend is built without the SDK; the module is built
 * where the SDK is (model_runtime_module.cc). Errors are values, every one with a text.
 *
 * One symbol: graphcore_device_module. A module of another seam version is refused. Thread rule:
 * run from any number of threads; everything else one call at a time and never beside a run. */
#ifndef GRAPHCORE_SDK_SEAM_H_
#define GRAPHCORE_SDK_SEAM_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GRAPHCORE_SEAM_VERSION 1
#define GRAPHCORE_SEAM_SYMBOL "graphcore_device_module"

#define GRAPHCORE_OK 0
#define GRAPHCORE_DEVICE_UNAVAILABLE 1 /* no chip, or all are taken */
#define GRAPHCORE_VERSION_MISMATCH 2   /* the executable was made by another SDK */
#define GRAPHCORE_OUT_OF_MEMORY 3
#define GRAPHCORE_TIMED_OUT 4
#define GRAPHCORE_FAILED 5

/* Tensors by name. `dtype` is one of ASSAY_* of assay/backend.h. */
typedef struct graphcore_tensor {
  const char* name;
  uint32_t dtype;
  uint32_t rank;
  const int64_t* shape;
  uint64_t size_bytes;
  void* data; /* null in descriptions; not written for inputs */
} graphcore_tensor;

typedef struct graphcore_text {
  char* data; /* the caller's, `capacity` bytes; always ended by 0 */
  uint64_t capacity;
} graphcore_text;

typedef struct graphcore_executable graphcore_executable;

typedef struct graphcore_module {
  uint32_t seam_version;

  /* "SDK 3.3.0, model_runtime 1.2": for the report. */
  const char* (*version)(void);

  /* How many chips there are. Acquires none. */
  int32_t (*device_info)(uint32_t* devices, graphcore_text message);

  /* Acquires a chip within `timeout_ms` and loads the executable at `path` onto it. */
  int32_t (*load)(const char* path, uint64_t timeout_ms, graphcore_executable** executable,
                  graphcore_text message);

  /* Calls `add` once per tensor: `is_input` 1 or 0; the tensor is lent for the call. */
  int32_t (*describe)(graphcore_executable* executable,
                      void (*add)(void* context, int32_t is_input, const graphcore_tensor* tensor),
                      void* context, graphcore_text message);

  /* One call; returns when the outputs are written. Sizes have been held against describe. */
  int32_t (*run)(graphcore_executable* executable, const graphcore_tensor* inputs,
                 uint64_t input_count, const graphcore_tensor* outputs, uint64_t output_count,
                 uint64_t timeout_ms, graphcore_text message);

  /* The same without waiting; null when the module has none. `done` is called exactly once, on any
   * thread; all memory stays until then. */
  int32_t (*run_async)(graphcore_executable* executable, const graphcore_tensor* inputs,
                       uint64_t input_count, const graphcore_tensor* outputs, uint64_t output_count,
                       void (*done)(void* context, int32_t code, const char* message),
                       void* context, graphcore_text message);

  /* Gives the chip back. The executable is gone afterwards, whatever is returned. */
  int32_t (*close)(graphcore_executable* executable, graphcore_text message);
} graphcore_module;

typedef const graphcore_module* (*graphcore_module_function)(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GRAPHCORE_SDK_SEAM_H_ */
