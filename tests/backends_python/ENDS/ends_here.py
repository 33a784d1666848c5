"""Misbehaves in the method that VENDOR_ENDS names: "compile:abort" ends the process there."""
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time


def _spin():
    while True:
        pass


def _sleep():
    while True:
        time.sleep(1)


def _ignore_all_signals():
    for number in range(1, signal.SIGRTMAX + 1):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass  # SIGKILL and SIGSTOP, and those that the C library keeps


def _hang_deaf():
    _ignore_all_signals()
    _sleep()


def _throw(failure):
    raise failure


def _recurse():
    return _recurse() + 1


def _eat_memory():
    pieces = []
    while True:
        pieces.append(b"x" * (16 << 20))


def _flood(megabytes=100):
    line = "x" * 1023 + "\n"
    for _ in range(megabytes):
        sys.stdout.write(line * 512)
        sys.stderr.write(line * 512)


def _children():
    """Plain ones, one in a session of its own, and one that is nobody's child."""
    subprocess.Popen(["sleep", "1000"])
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            _ignore_all_signals()
            _sleep()
        os._exit(0)
    os.wait()
    threading.Thread(target=_sleep, daemon=True).start()


def _close_output():
    if sys.stdout.name == os.devnull:
        return  # it was called before
    sys.stdout.flush()
    sys.stderr.flush()
    os.closerange(0, 3)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # what it prints later goes nowhere


def _handlers():
    for number in (signal.SIGSEGV, signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.alarm(1)


def _change_process():
    os.chdir("/")
    os.umask(0o077)
    os.environ.clear()
    os.nice(19)


def _litter():
    HELD.append(open(f"/dev/shm/assay_litter_{os.getpid()}", "w"))
    for folder in (".", tempfile.gettempdir()):
        with open(os.path.join(folder, "left_behind.txt"), "w") as file:
            file.write("litter\n")


def _change_interpreter():
    sys.stdout = sys.stderr = None
    sys.path.clear()
    sys.setrecursionlimit(60)
    sys.settrace(lambda *_: None)


HELD = []
DEEDS = {"abort": os.abort,
         "exit": lambda: os._exit(7),
         "exit0": lambda: os._exit(0),
         "sys_exit": lambda: sys.exit(3),
         "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
         "segfault": lambda: ctypes.string_at(0),
         "spin": _spin,
         "sleep": _sleep,
         "hang_deaf": _hang_deaf,
         "throw": lambda: _throw(ValueError("thrown on demand")),
         "interrupt": lambda: _throw(KeyboardInterrupt("thrown on demand")),
         "throw_no_text": lambda: _throw(RuntimeError("\udcff thrown on demand")),
         "recurse": _recurse,
         "eat_memory": _eat_memory,
         "flood": _flood,
         "children": _children,
         "close_fds": lambda: os.closerange(3, 256),
         "close_output": _close_output,
         "handlers": _handlers,
         "deaf": _ignore_all_signals,
         "change_process": _change_process,
         "change_interpreter": _change_interpreter,
         "litter": _litter}


def ends_here(method):
    wanted, _, how = os.environ.get("VENDOR_ENDS", ":").partition(":")
    if wanted != method:
        return
    print("about to end in", method, flush=True)
    DEEDS[how]()
