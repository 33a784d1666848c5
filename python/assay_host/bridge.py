"""The seam between Assay's worker and a Python backend. The worker calls these functions, text being JSON
where it says so; any exception is the failure of the call, and describe() gives its code and message.

Calls come one at a time, except predict, which any number of threads may call.
"""

import os
from typing import Any, Callable, List, Optional, Sequence, Tuple

from assay_host.errors import FAILED_PRECONDITION, BridgeError, describe
from assay_host.predictor import Predictor, Result, Spec
from assay_host.session import Session

__all__ = [
    "BridgeError", "benchmark", "best_batch_size", "close", "compile", "describe", "interact_profile",
    "load", "loaded_batch_size", "notes", "open", "pre_optimize", "predict", "signature", "traits", "version"]

_session: Optional[Session] = None
_predictor: Optional[Predictor] = None
_failure: Optional[BaseException] = None  # of the one attempt to open: modules cannot be imported anew


def _opened() -> Session:
    if _session is None:
        raise BridgeError(FAILED_PRECONDITION, "no backend is open")
    return _session


def open(folder: str, hardware_type: str) -> None:
    """Imports the backend of `folder` and makes its two objects. Once per process: another folder is
    refused, the same one is open already. ASSAY_PYTHON_SCRATCH names the run's folder to work in: this
    process works in one of its own below it."""
    global _session, _failure
    if _failure is not None:
        raise _failure
    if _session is not None:
        if (_session.folder, _session.hardware_type) != (os.path.abspath(folder), hardware_type):
            raise BridgeError(FAILED_PRECONDITION, "{} is open in this process already, {} needs one of its"
                              " own".format(_session.folder, folder))
        return
    scratch = os.environ.get("ASSAY_PYTHON_SCRATCH")
    if not scratch:
        raise BridgeError(FAILED_PRECONDITION, "ASSAY_PYTHON_SCRATCH names no folder to work in")
    os.environ["ASSAY_PYTHON_BACKEND"] = os.path.abspath(folder)
    session = Session(folder, hardware_type, scratch)
    try:
        session.open()
    except BaseException as failure:
        _failure = failure
        raise
    _session = session


def traits() -> Tuple[str, bool, bool]:
    """(hardware_type, need_reload, need_quant)."""
    return _opened().traits()


def interact_profile(configs_json: str) -> str:
    """The questions as a JSON list; "" for none."""
    return _opened().interact_profile(configs_json)


def pre_optimize(configs_json: str, folder: str) -> Optional[str]:
    """The whole new configs as JSON; None when nothing in them changed."""
    return _opened().pre_optimize(configs_json, folder)


def best_batch_size() -> Optional[List[int]]:
    """Batch sizes that replace the workload's."""
    return _opened().best_batch_size()


def compile(configs_json: str, artifact_folder: str, loader: Any,
            progress: Callable[[float, str], Any]) -> str:
    """The compile result as JSON, with "live": true when it can be loaded in this process only."""
    return _opened().compile(configs_json, artifact_folder, loader, progress)


def version() -> str:
    return _opened().version()


def load(configs_json: str, compile_result_json: str, artifact_folder: str, batch_size: int) -> None:
    """Loads the compile result that this process made, else the saved one, else compiles again."""
    global _predictor
    _predictor = None
    session = _opened()
    session.load(configs_json, artifact_folder, batch_size)
    _predictor = session.predictor


def loaded_batch_size() -> int:
    return _opened().loaded_batch_size()


def signature() -> Tuple[List[Spec], List[Spec]]:
    """(inputs, outputs), each (name, number of the element type, shape with -1 where free)."""
    return _opened().signature()


def predict(inputs: Sequence[memoryview]) -> Tuple[Result, ...]:
    """`inputs`: read-only bytes in the signature's order, lent for this call. Gives (address, bytes,
    number of the element type, shape) of each output in the signature's order: contiguous host memory
    that stays until this thread's next predict."""
    if _predictor is None:
        raise BridgeError(FAILED_PRECONDITION, "nothing is loaded")
    return _predictor(inputs)


def benchmark(loader: Any) -> Optional[str]:
    """The vendor's claims as a JSON list; None when the backend has no benchmark."""
    return _opened().benchmark(loader)


def notes() -> List[str]:
    """What the report should say."""
    return list(_opened().notes)


def close() -> None:
    global _predictor
    _predictor = None
    if _session is not None:
        _session.close()
