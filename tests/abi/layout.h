#ifndef ASSAY_TESTS_ABI_LAYOUT_H_
#define ASSAY_TESTS_ABI_LAYOUT_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One line of the layout: a struct (field "") with its size, or a field with offset and size. */
/* NOLINTNEXTLINE(readability-identifier-naming): a name of C */
typedef struct layout_row {
  const char* type;
  const char* field;
  size_t offset;
  size_t size;
} layout_row;

extern const layout_row kLayout[];
extern const size_t kLayoutRows;

#ifdef __cplusplus
}
#endif

#endif /* ASSAY_TESTS_ABI_LAYOUT_H_ */
