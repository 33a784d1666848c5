"""The worker of a Python backend: `python -B -m assay_host.worker`, started by Assay, never by hand.

ASSAY_WORKER_LIBRARY names the library that speaks with the controller over descriptor 3.
"""

import atexit
import ctypes
import faulthandler
import fcntl
import logging
import multiprocessing
import os
import signal
import sys
from typing import Any

_CHANNEL = 3
_STACKS = 4  # a file for the stacks of threads
_STACK_SIGNAL = signal.SIGRTMAX - 2  # src/worker/stack_answer.cc answers it too, and then calls this one


def _prepare_streams() -> None:
    """What the backend prints is the phase's log: line by line, so that a crash loses nothing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True, errors="backslashreplace")
    faulthandler.enable(all_threads=True)
    # As the published engine does before it imports a backend.
    logging.basicConfig(level=logging.INFO)
    try:
        away = fcntl.fcntl(_STACKS, fcntl.F_DUPFD_CLOEXEC, 600)
    except OSError:
        return  # nobody will ask
    faulthandler.register(_STACK_SIGNAL, file=away, all_threads=True)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # the backend may have closed or replaced it


def _prepare_processes() -> None:
    """Published backends start processes from closures, which only a fork can run."""
    if multiprocessing.get_start_method(allow_none=True) is None:
        multiprocessing.set_start_method("fork")
    # The controller decides what an interrupt means; it ends this process when it has to.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _serve() -> int:
    library: Any = ctypes.CDLL(os.environ["ASSAY_WORKER_LIBRARY"], mode=os.RTLD_NOW | os.RTLD_LOCAL)
    library.assay_worker_serve.argtypes = [ctypes.c_int]
    library.assay_worker_serve.restype = ctypes.c_int
    return int(library.assay_worker_serve(_CHANNEL))


def main() -> None:
    """Serves, runs what the backend registered for the end, and leaves without taking the interpreter
    apart: threads and drivers of the backend may still use it."""
    if "ASSAY_WORKER_LIBRARY" not in os.environ:
        sys.exit("assay_host.worker is started by assay, with ASSAY_WORKER_LIBRARY in its environment")
    _prepare_streams()
    _prepare_processes()
    code = _serve()
    try:
        atexit._run_exitfuncs()
    except BaseException as failure:  # the backend's; its result is already delivered
        sys.stderr.write("at exit: {}: {}\n".format(type(failure).__name__, failure))
    _flush()
    os._exit(code)


if __name__ == "__main__":
    main()
