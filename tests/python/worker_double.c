/* Stands in for libassay_worker.so: prints on the C side, then gives what the test wants. */
#include <stdio.h>
#include <stdlib.h>

int assay_worker_serve(int descriptor) {
  const char* code = getenv("WORKER_DOUBLE_CODE");
  (void)printf("serves %d\n", descriptor);
  (void)fflush(stdout);
  return code == NULL ? 0 : atoi(code);
}
