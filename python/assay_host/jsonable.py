"""Vendor objects as JSON: whatever is in them, the document is valid and says what was left out."""

import json
import math
import os
from typing import Any, List, Optional, Tuple

import numpy as np

_LONGEST_ARRAY = 64


def to_jsonable(value: Any, dropped: Optional[List[str]] = None, at: str = "",
                above: Tuple[int, ...] = ()) -> Any:
    """`value` made of what JSON knows. Places that could not be kept are added to `dropped`."""
    if value is None or isinstance(value, (bool, str)):
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return _number(float(value), dropped, at)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(os.fspath(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if id(value) in above:
        return _left_out(value, dropped, at, "holds itself")
    return _container(value, dropped, at, above + (id(value),))


def _container(value: Any, dropped: Optional[List[str]], at: str, above: Tuple[int, ...]) -> Any:
    if isinstance(value, dict):
        return {_key(k): to_jsonable(v, dropped, "{}.{}".format(at, _key(k)).lstrip("."), above)
                for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    if isinstance(value, (list, tuple)):
        return [to_jsonable(v, dropped, "{}.{}".format(at, i).lstrip("."), above)
                for i, v in enumerate(value)]
    if isinstance(value, np.ndarray) and value.size <= _LONGEST_ARRAY and value.dtype != object:
        return to_jsonable(value.tolist(), dropped, at, above)
    if isinstance(value, np.dtype) or isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value).name
    return _left_out(value, dropped, at, "lives in the backend's process only")


def _number(value: float, dropped: Optional[List[str]], at: str) -> Optional[float]:
    if math.isfinite(value):
        return value
    if dropped is not None:
        dropped.append("{} is {}".format(at or "the value", value))
    return None


def _left_out(value: Any, dropped: Optional[List[str]], at: str, why: str) -> str:
    """No address in it: two runs that do the same write the same."""
    if dropped is not None:
        dropped.append("{} ({}) {}".format(at or "the value", type(value).__name__, why))
    return "<{}>".format(type(value).__name__)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key.encode("utf-8", "replace").decode()
    return str(to_jsonable(key))


def dump(value: Any) -> str:
    """The text of what to_jsonable made."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
