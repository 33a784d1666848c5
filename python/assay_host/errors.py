"""Failures with a code of include/assay/backend.h, and how a vendor's exception becomes one."""

import sys
import traceback
from types import TracebackType
from typing import Any, Callable, List, Optional, Tuple

CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
NOT_FOUND = 5
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
DATA_LOSS = 15

# Folders of the vendor's code, the latest first, set when the backend is opened.
_vendor_folders: List[str] = []


class BridgeError(Exception):
    """A failure whose code is known; the text is complete as it stands."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def set_vendor_folders(folders: List[str]) -> None:
    _vendor_folders[:] = [folder.rstrip("/") + "/" for folder in folders]


def vendor_frame(trace: Optional[TracebackType]) -> str:
    """The innermost line of the vendor's code on `trace` as "file.py:12"; "" when there is none."""
    for frame in reversed(traceback.extract_tb(trace)):
        for folder in _vendor_folders:
            if frame.filename.startswith(folder):
                return "{}:{}".format(frame.filename[len(folder):], frame.lineno)
    return ""


def from_vendor(method: str, failure: BaseException) -> BaseException:
    """What to raise when the vendor's `method` ended with `failure`. Keeps its traceback."""
    typed: BaseException = failure
    if isinstance(failure, SystemExit):
        typed = BridgeError(INTERNAL, "the backend called sys.exit({}) in {}".format(
            "" if failure.code is None else failure.code, method))
    elif isinstance(failure, NotImplementedError):
        text = str(failure)
        typed = BridgeError(UNIMPLEMENTED, "the backend does not implement {}{}".format(
            method, ": " + text if text else ""))
    elif isinstance(failure, ImportError):
        typed = BridgeError(FAILED_PRECONDITION, _import_text(method, failure))
    elif isinstance(failure, ValueError) and "read-only" in str(failure):
        typed = BridgeError(FAILED_PRECONDITION, "{} writes to its inputs, which belong to Assay and"
                            " are read-only; copy an input before changing it".format(method))
    if typed is not failure:
        typed.__cause__ = failure
        typed.__traceback__ = failure.__traceback__
    return typed


def call(method: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """`function(*arguments)`, the vendor's `method`, with its failure made a typed one."""
    try:
        return function(*arguments)
    except BridgeError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # SystemExit is one of them
        typed = from_vendor(method, failure)
        if typed is failure:
            raise
        raise typed


def _code_and_text(failure: BaseException) -> Tuple[int, str]:
    if isinstance(failure, BridgeError):
        return failure.code, str(failure)
    if isinstance(failure, KeyboardInterrupt):  # the host raises it with a text, out of its progress
        return CANCELLED, str(failure) or "KeyboardInterrupt"
    code = RESOURCE_EXHAUSTED if isinstance(failure, MemoryError) else UNKNOWN
    return code, "{}: {}".format(type(failure).__name__, failure).rstrip(": ")


def during(step: str, failure: BaseException) -> BridgeError:
    """`failure`, which happened in `step` of a call that does more. Keeps its traceback."""
    code, text = _code_and_text(failure)
    typed = BridgeError(code, "{}: {}".format(step, text))
    typed.__cause__ = failure
    typed.__traceback__ = failure.__traceback__
    return typed


def describe(failure: BaseException) -> Tuple[int, str]:
    """(code, message) of any exception: its type unless the text is ours, and the vendor's line."""
    code, text = _code_and_text(failure)
    # What ends a text in C or cannot be encoded is written out.
    text = text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")
    where = vendor_frame(failure.__traceback__)
    return code, "{} ({})".format(text, where) if where else text


def _import_text(method: str, failure: ImportError) -> str:
    """Names what is missing and what can be done about it."""
    name = (failure.name or "").partition(".")[0]
    if not isinstance(failure, ModuleNotFoundError) or not name:
        return "{}: {}".format(method, failure)
    return (
        'the backend needs the module "{}", which {} does not have: name its package in requirements.txt'
        " or in a file given with --requirements, give an interpreter that has it with --python, or"
        " leave it out with --stub {} when this task does not need it".format(
            failure.name, sys.executable, name))
