#ifndef ASSAY_VERSION_H_
#define ASSAY_VERSION_H_

/* Version of the installed Assay. The backend boundary has a version of its own: see backend.h. */
#define ASSAY_VERSION_MAJOR 0
#define ASSAY_VERSION_MINOR 1
#define ASSAY_VERSION_PATCH 0
#define ASSAY_VERSION_STRING "0.1.0"

#endif /* ASSAY_VERSION_H_ */
