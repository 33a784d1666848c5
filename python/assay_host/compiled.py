"""What compile() returned: as the compile result that Assay reads, and on its way to another process."""

import json
import os
import pickle
from typing import Any, Dict, List, Optional, Tuple

from assay_host import jsonable
from assay_host.errors import INTERNAL, BridgeError

PICKLE = "compile_info.pickle"
STATE = "python_state.json"


def normalise(returned: Any, notes: List[str], places: Optional[Dict[str, str]] = None) -> Dict[str, Any]:
    """The compile result as JSON; lists where one object stands for several, or several for one. A
    model's place of `places` is named by where it came from."""
    if not isinstance(returned, dict):
        raise BridgeError(INTERNAL, "compile returned {}, wants a dict with compile_precision, sg_percent,"
                          " model and compile_status".format(type(returned).__name__))
    dropped: List[str] = []
    result: Dict[str, Any] = jsonable.to_jsonable(returned, dropped)
    notes.extend("compile result: " + each for each in dropped)
    segments = result.get("segments")
    if isinstance(segments, dict):
        segments = result["segments"] = [segments]
    for segment in segments if isinstance(segments, list) else []:
        if isinstance(segment, dict) and "compiled_model" in segment:
            segment["compiled_model"] = _objects(segment["compiled_model"], notes)
    return _named(result, places or {})  # type: ignore[no-any-return]


def _named(value: Any, places: Dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _named(each, places) for key, each in value.items()}
    if isinstance(value, list):
        return [_named(each, places) for each in value]
    return places.get(value, value) if isinstance(value, str) else value


def _objects(compiled: Any, notes: List[str]) -> Any:
    """One entry for each batch size: published code also gives two lists side by side."""
    if isinstance(compiled, dict):
        compiled = [compiled]
    if not isinstance(compiled, list):
        return compiled
    found: List[Any] = []
    for entry in compiled:
        sizes = entry.get("compiled_bs") if isinstance(entry, dict) else None
        if isinstance(sizes, list):
            found.extend(_side_by_side(entry, sizes))
            continue
        if isinstance(sizes, str) and sizes.strip().isdigit():
            notes.append('compile result: compiled_bs is the text "{}", taken for a number'.format(sizes))
            entry["compiled_bs"] = int(sizes)
        found.append(entry)
    return found


def _side_by_side(entry: Dict[str, Any], sizes: List[Any]) -> List[Dict[str, Any]]:
    objects = entry.get("compiled_obj")
    if not isinstance(objects, list):
        objects = [objects] * len(sizes)
    if len(objects) != len(sizes):
        raise BridgeError(INTERNAL, "compile result: compiled_bs lists {} batch sizes, compiled_obj {}"
                          " objects".format(len(sizes), len(objects)))
    return [{**entry, "compiled_bs": size, "compiled_obj": obj} for size, obj in zip(sizes, objects)]


class Saved:
    """What load needs in another process, as it lies in an artifact folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._pickle = os.path.join(folder, PICKLE)

    def write(self, token: str, configs: str, bundle: Dict[str, Any]) -> Optional[str]:
        """`configs`: what the whole sequence started from. `bundle` is pickled when it comes back the
        same; otherwise gives why not, and no pickle is written."""
        with open(os.path.join(self._folder, STATE), "w", encoding="utf-8") as file:
            json.dump({"token": token, "configs": json.loads(configs)}, file, ensure_ascii=False, indent=1)
        data, reason = _pickled(bundle)
        if data is not None:
            with open(self._pickle, "wb") as file:
                file.write(data)
        return reason

    def state(self) -> Dict[str, Any]:
        """{"token", "configs"}; empty when this is no artifact of ours."""
        try:
            with open(os.path.join(self._folder, STATE), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {}

    def has_pickle(self) -> bool:
        return os.path.exists(self._pickle)

    def unpickle(self) -> Dict[str, Any]:
        with open(self._pickle, "rb") as file:
            return pickle.load(file)


def _pickled(bundle: Dict[str, Any]) -> Tuple[Optional[bytes], Optional[str]]:
    """Some objects can be written and not read, or come back as something else: both are tried."""
    try:
        data = pickle.dumps(bundle, protocol=4)
        again = pickle.loads(data)
    except Exception as failure:  # vendor objects raise whatever they like
        return None, "{}: {}".format(type(failure).__name__, failure)
    if jsonable.dump(jsonable.to_jsonable(again)) != jsonable.dump(jsonable.to_jsonable(bundle)):
        return None, "it does not come back the same"
    return data, None
