#pragma once

// The extension by which a test holds the DMA double's engine, so that queues fill and calls wait
// without anybody sleeping.

#include "assay/backend.h"

#define ASSAY_TEST_EXTENSION_DMA "assay.test.dma/1"

struct DmaControl {
  uint32_t struct_size;
  uint32_t reserved;
  // The engine finishes what it has begun and takes nothing more.
  void (*hold)(assay_runtime* runtime);
  void (*release)(assay_runtime* runtime);
};
