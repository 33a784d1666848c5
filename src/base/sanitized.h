#pragma once

// ASSAY_SANITIZED: 1 in a build under the address or the thread sanitizer. For tests of what a
// sanitizer changes: its heap, its system calls. GCC says it by a macro, clang by a feature.

#if defined(__has_feature)
#define ASSAY_HAS_FEATURE_(name) __has_feature(name)
#else
#define ASSAY_HAS_FEATURE_(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    ASSAY_HAS_FEATURE_(address_sanitizer) || ASSAY_HAS_FEATURE_(thread_sanitizer)
#define ASSAY_SANITIZED 1
#else
#define ASSAY_SANITIZED 0
#endif
