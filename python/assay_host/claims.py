"""What a backend's benchmark() returned, as the vendor's claims: batch size, samples per second, latency
in milliseconds. Every reading that is not plain from the words is said in the claim's notes."""

import math
import re
from typing import Any, Dict, List, Optional, Tuple

from assay_host import jsonable

_NAMES = {
    "batch_size": ("bs", "batch", "batchsize"),
    "qps": ("qps", "throughput", "fps", "samplespersecond"),
    "mean": ("avglatency", "averagelatency", "meanlatency", "latencyavg", "latencymean", "latency", "avg"),
    "p99": ("p99latency", "latencyp99", "p99"),
}
_UNITS = {"s": 1e3, "sec": 1e3, "seconds": 1e3, "ms": 1.0, "us": 1e-3, "µs": 1e-3, "ns": 1e-6}
# Batches in flight that QPS and a latency give together: from half a batch to what was seen at most.
_FEWEST, _MOST = 0.5, 1000.0


def claims_of(returned: Any, batch_size: int) -> List[Dict[str, Any]]:
    """`returned` in any of the forms seen; `batch_size` is the loaded one."""
    if isinstance(returned, (list, tuple)):
        return [claim for each in returned for claim in claims_of(each, batch_size)]
    if not isinstance(returned, dict):
        note = "benchmark returned {}, not a dict or a list of them".format(type(returned).__name__)
        return [_claim(None, None, None, None, {"returned": jsonable.to_jsonable(returned)}, [note])]
    if returned and all(isinstance(value, dict) for value in returned.values()):
        return [_of_dict(value, _size_in(key) or batch_size, key) for key, value in returned.items()]
    rows = _rows(returned)
    if rows:
        return [claim for each in rows for claim in claims_of(each, batch_size)]
    return [_of_dict(returned, batch_size, None)]


def _size_in(key: Any) -> Optional[float]:
    """8 of 8, "8", "bs8" and "batch size 8"."""
    found = re.fullmatch(r"\D*(\d+)", str(key).strip())
    return float(found.group(1)) if found else None


def _rows(figures: Dict[Any, Any]) -> List[Dict[Any, Any]]:
    """Of {"results": [{...}, ...]} the list; of {"BS": [1, 4], "QPS": [90, 300]} the rows; else none."""
    if any(_word_and_unit(str(key))[0] in known for key in figures for known in _NAMES.values()):
        lengths = {len(value) if isinstance(value, (list, tuple)) else 0 for value in figures.values()}
        if len(lengths) != 1 or lengths == {0}:
            return []
        return [dict(zip(figures, row)) for row in zip(*figures.values())]
    rows = [row for value in figures.values() if isinstance(value, (list, tuple)) for row in value]
    return rows if all(isinstance(row, dict) for row in rows) else []


def _claim(batch_size: Optional[int], qps: Optional[float], mean: Optional[float], p99: Optional[float],
           raw: Dict[str, Any], notes: List[str]) -> Dict[str, Any]:
    latency = None if mean is None and p99 is None else {"mean": mean, "p99": p99}
    return {"batch_size": batch_size, "qps": qps, "latency_ms": latency, "raw": raw, "notes": notes}


def _of_dict(figures: Dict[Any, Any], batch_size: float, key: Any) -> Dict[str, Any]:
    notes: List[str] = []
    raw = jsonable.to_jsonable(figures, notes)
    if key is not None:
        raw = {str(key): raw}
    size = _figure(figures, "batch_size", notes)[0]
    if size is None:
        notes.append("no batch size is given: the loaded one, {:g}, is taken".format(batch_size))
        size = batch_size
    elif size != batch_size:
        notes.append("the batch size given is {:g}, {:g} was loaded".format(size, batch_size))
    qps = _figure(figures, "qps", notes)[0]
    mean, unit = _figure(figures, "mean", notes)
    p99, p99_unit = _figure(figures, "p99", notes)
    if mean is not None and unit is None:
        factor = _factor(qps, mean, size, notes)
        mean *= factor
        if p99 is not None and p99_unit is None:
            p99 *= factor
    elif p99 is not None and p99_unit is None:
        notes.append("the unit of the P99 latency is not given: taken for milliseconds")
    if mean is not None and p99 is not None and p99 < mean:
        notes.append("the P99 latency is below the mean")
    return _claim(int(size), qps, mean, p99, raw, notes)


def _figure(figures: Dict[Any, Any], which: str, notes: List[str]) -> Tuple[Optional[float], Optional[str]]:
    """(value in the unit that stands in the key, the unit). Latencies with a unit come in ms."""
    for key, value in figures.items():
        word, unit = _word_and_unit(str(key))
        if word not in _NAMES[which]:
            continue
        number, note = _number(value)
        if note:
            notes.append("{}: {}".format(key, note))
        if number is None:
            return None, None
        if number <= 0:
            notes.append("{} is {:g}: not a measurement".format(key, number))
            return None, None
        is_latency = which in ("mean", "p99")
        return (number * _UNITS[unit] if unit and is_latency else number), (unit if is_latency else None)
    notes.append({"batch_size": "", "qps": "no QPS is given", "mean": "no mean latency is given",
                  "p99": "no P99 latency is given"}[which])
    if not notes[-1]:
        notes.pop()
    return None, None


def _word_and_unit(key: str) -> Tuple[str, Optional[str]]:
    """"AVG Latency (ms)" -> ("avglatency", "ms"); AVG_Latency -> ("avglatency", None)."""
    parts = [part for part in re.split(r"[^A-Za-z0-9µ]+", key.lower()) if part]
    unit = parts.pop() if len(parts) > 1 and parts[-1] in _UNITS else None
    return "".join(parts), unit


def _number(value: Any) -> Tuple[Optional[float], Optional[str]]:
    """(number, note) of what may be a NumPy scalar, a text or nothing."""
    if isinstance(value, bool) or value is None:
        return None, "{} is no number".format(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None, "{} is no number".format(jsonable.dump(jsonable.to_jsonable(value)))
    if not math.isfinite(number):
        return None, "{} is no figure".format(number)
    return number, "a text, taken for a number" if isinstance(value, str) else None


def _factor(qps: Optional[float], mean: float, size: float, notes: List[str]) -> float:
    """Milliseconds for one of the unit of `mean`. By convention that unit is a millisecond; where QPS
    says that less than half a batch would then be in flight, and seconds fit, it is seconds."""
    if qps is None:
        notes.append("the unit of the latencies is not given and there is no QPS to hold them against:"
                     " taken for milliseconds")
        return 1.0
    in_flight = qps * mean / 1e3 / size
    if _FEWEST <= in_flight <= _MOST:
        return 1.0
    if in_flight < _FEWEST and _FEWEST <= in_flight * 1e3 <= _MOST:
        notes.append("taken for seconds: with the QPS given, milliseconds would mean {:.2g} batches in"
                     " flight, seconds mean {:.3g}".format(in_flight, in_flight * 1e3))
        return 1e3
    notes.append("taken for milliseconds, though with the QPS given this means {:.3g} batches in"
                 " flight".format(in_flight))
    return 1.0
