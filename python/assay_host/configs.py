"""The configs that vendor code sees: one workload dict and one model info dict for the whole process.

The worker passes them as text in every call. Vendor code keeps and changes the objects, so text that
only repeats what the objects already say leaves them alone.
"""

import copy
import json
import os
from typing import Any, Callable, Dict, List, Optional

from assay_host import jsonable
from assay_host.errors import INVALID_ARGUMENT, BridgeError
from assay_host.samples import FAKE_NAME, names_in

_SECTIONS = ("workload", "model_info", "interact_info")


def _ordered_shapes(info: Dict[str, Any]) -> None:
    """Published code takes the order of input_shape for that of the inputs."""
    shapes, names = info.get("input_shape"), names_in(info.get("inputs"))
    if isinstance(shapes, dict) and set(names) == set(shapes):
        info["input_shape"] = {name: shapes[name] for name in names}


def _published_types(info: Dict[str, Any]) -> None:
    """Published code for PyTorch knows 64-bit integers as LONG only."""
    if str(info.get("framework", "")).lower() == "pytorch":
        types = ["LONG" if kind == "INT64" else kind for kind in names_in(info.get("input_type"))]
        info["input_type"] = ",".join(types)


class Configs:
    """The live objects, and what the worker last knew of them."""

    def __init__(self, place_model: Callable[[str], str] = str) -> None:
        self.places: Dict[str, str] = {}  # where a model lies for vendor code -> where it came from
        self._place_model = place_model
        self.workload: Dict[str, Any] = {}
        self.model_info: Dict[str, Any] = {}
        self.interact_info: Dict[str, Any] = {}
        self.live: Optional[Dict[str, Any]] = None  # what pre_optimize returned, when it did
        self.settings: Dict[str, Any] = {}  # of a profile that is no list of questions
        self._known: Dict[str, List[Any]] = {section: [] for section in _SECTIONS}

    def adopt(self, text: str) -> None:
        """Takes the worker's configs; a section that says something new fills the live object anew."""
        configs = json.loads(text)
        if not isinstance(configs, dict):
            raise BridgeError(INVALID_ARGUMENT, "configs: got {}, wants an object".format(type(configs).__name__))
        for section in _SECTIONS:
            content = configs.get(section) or {}
            if content in self._known[section]:
                continue
            self._known[section] = [copy.deepcopy(content)]
            self._fill(section, content)

    def _fill(self, section: str, content: Dict[str, Any]) -> None:
        if section == "model_info":
            content["dataset_name"] = content.get("dataset_name") or FAKE_NAME
            _ordered_shapes(content)
            _published_types(content)
            self._place(content)
        if section == "interact_info":
            content = {**self.settings, **content}
        target = getattr(self, section)
        target.clear()
        target.update(content)
        if self.live is not None and self.live.get(section) is not target:
            self.live[section] = target

    def _place(self, info: Dict[str, Any]) -> None:
        path = info.get("model_path")
        if isinstance(path, str):
            info["model_path"] = place = self._place_model(path)
            self.places.update({place: path, os.path.abspath(place): path})

    def current(self) -> Dict[str, Any]:
        """What compile gets: pre_optimize's own object once there is one."""
        if self.live is None:
            return {section: getattr(self, section) for section in _SECTIONS}
        return self.live

    def before_questions(self) -> Dict[str, Any]:
        """What get_interact_profile gets: there are no answers yet."""
        return {"workload": self.workload, "model_info": self.model_info}

    def text(self) -> str:
        """The configs as the worker reads them."""
        whole = {section: getattr(self, section) for section in _SECTIONS}
        whole.update(self.current())
        shown = jsonable.to_jsonable(whole)
        info = shown.get("model_info")
        if isinstance(info, dict) and info.get("dataset_name") == FAKE_NAME:
            info["dataset_name"] = None
        if isinstance(info, dict):
            info["model_path"] = self.places.get(info.get("model_path", ""), info.get("model_path"))
        return jsonable.dump(shown)

    def replace(self, returned: Dict[str, Any]) -> str:
        """Goes on with what pre_optimize returned; gives its text, which the worker will repeat."""
        self.live = returned
        text = self.text()
        for section, content in json.loads(text).items():
            if section in self._known:
                self._known[section].append(content)
        return text

    def set_settings(self, settings: Dict[str, Any]) -> None:
        """What a profile holds beside its questions: passed on as if it had been answered."""
        self.settings = settings
        for name, value in settings.items():
            self.interact_info.setdefault(name, value)

    def set_batch_sizes(self, sizes: List[int]) -> None:
        """The backend's own, as the published engine writes them into the workload."""
        self.workload["batch_sizes"] = list(sizes)
        self._known["workload"].append(jsonable.to_jsonable(self.workload))

    def share(self, workload: Dict[str, Any], model_info: Dict[str, Any]) -> None:
        """Goes on with the objects that came with a compile result, filled with what is known here:
        compile result, workload and model info may refer to one another."""
        for section, target in (("workload", workload), ("model_info", model_info)):
            target.update(getattr(self, section))
            setattr(self, section, target)
