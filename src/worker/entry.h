#pragma once

// Where the worker's program and an interpreter that is the worker come in: the one symbol that
// libassay_worker.so exports.

// Serves the controller on the channel `fd`, which it takes, until it is told to close or the
// controller is gone. Returns the process's exit code: 2 when `fd` is no open descriptor. Once per
// process, from its main thread.
extern "C" int assay_worker_serve(int fd);
