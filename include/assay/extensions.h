#ifndef ASSAY_EXTENSIONS_H_
#define ASSAY_EXTENSIONS_H_

/*
 * Extensions of the backend boundary that Assay knows. assay_plugin.get_extension(NAME) returns the
 * struct behind a name, or NULL: all of them are optional. The number after the slash is the major;
 * within it the structs are only appended to. Rules as in backend.h.
 */

#include "assay/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the time of a call went, by the device's own clock. Shown beside Assay's clock, never
 * instead of it. */
#define ASSAY_EXTENSION_TIMING "assay.timing/1"

typedef struct assay_call_timing {
  uint32_t struct_size; /* room, stamped by the host */
  uint32_t reserved;
  int64_t queue_ns; /* waiting in the plugin or driver; -1: unknown, so below */
  int64_t host_to_device_ns;
  int64_t compute_ns;
  int64_t device_to_host_ns;
} assay_call_timing;

typedef struct assay_timing {
  uint32_t struct_size;
  uint32_t reserved;
  /* Of the last call that this thread made by infer. ASSAY_NOT_FOUND when there was none. */
  int32_t (*last_call)(assay_runtime* runtime, assay_call_timing* timing, assay_error* error);
} assay_timing;

/* Host buffers that inputs and outputs will lie in, made known after load so that a driver can pin
 * or map them once. Tensors outside registered buffers still work. */
#define ASSAY_EXTENSION_MEMORY "assay.memory/1"

typedef struct assay_memory {
  uint32_t struct_size;
  uint32_t reserved;
  /* [data, data + size_bytes) stays mapped until unregister_buffer or close. */
  int32_t (*register_buffer)(assay_runtime* runtime, void* data, uint64_t size_bytes,
                             assay_error* error);
  int32_t (*unregister_buffer)(assay_runtime* runtime, void* data, assay_error* error);
} assay_memory;

/* Energy, clocks and temperature of a device. */
#define ASSAY_EXTENSION_TELEMETRY "assay.telemetry/1"

typedef struct assay_telemetry_reading {
  uint32_t struct_size; /* room, stamped by the host */
  uint32_t reserved;
  int64_t energy_microjoules; /* since a fixed moment; -1: unknown, so below */
  int64_t power_milliwatts;
  int64_t core_clock_khz;
  int64_t memory_clock_khz;
  int64_t temperature_millicelsius; /* INT64_MIN: unknown */
  int64_t memory_used_bytes;
} assay_telemetry_reading;

typedef struct assay_telemetry {
  uint32_t struct_size;
  uint32_t reserved;
  /* Any thread, also while infer runs; must not slow it down. */
  int32_t (*read)(int32_t device_id, assay_telemetry_reading* reading, assay_error* error);
} assay_telemetry;

/* What a backend wants the report to say of the loaded model and of its own work. */
#define ASSAY_EXTENSION_FACTS "assay.facts/1"

typedef struct assay_facts {
  uint32_t struct_size;
  uint32_t reserved;
  /* A JSON object, so far: {"notes": [sentences], "interpreter_lock": {"calls", "wait_ns"}}, the
   * latter since the process began. Not while infer runs. */
  int32_t (*collect)(assay_runtime* runtime, const assay_text_sink* facts, assay_error* error);
} assay_facts;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ASSAY_EXTENSIONS_H_ */
