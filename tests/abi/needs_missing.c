/* A backend whose own library cannot be found at run time. */
#include "assay/backend.h"

int from_a_missing_library(void);

int32_t ASSAY_BACKEND_ENTRY(const assay_host* host, const assay_plugin** plugin,
                            assay_error* error) {
  (void)host;
  (void)plugin;
  (void)error;
  return from_a_missing_library();
}
