#pragma once

// The room's public face. A backend in five steps:
//   find_backend(name, paths) -> Manifest          nothing is loaded
//   Library::open(manifest.library_path())         opened, versions agreed
//   CompileBackend::create(library) -> compile     the artifact and its compile result
//   RuntimeBackend::create(library) -> load        the signature of the compiled model
//   infer(inputs, outputs)                         checked on both sides

// IWYU pragma: begin_exports
#include "host/adapt.h"
#include "host/compile_backend.h"
#include "host/library.h"
#include "host/manifest.h"
#include "host/pipeline.h"
#include "host/runtime_backend.h"
// IWYU pragma: end_exports
