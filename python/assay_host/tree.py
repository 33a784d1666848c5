"""The folder that a published backend takes for the root of General Perf.

Vendor code opens `general_perf/model_zoo/<model>.json` and the like relative to the working directory,
and imports itself as `general_perf.backends.<HW>`. It runs from a copy of its folder, so that what it
writes beside itself stays in the run's scratch, and finds nothing there that an earlier run compiled.
"""

import json
import os
import shutil
import sys
import tempfile
import zlib
from typing import Any, Dict, List, Optional, Tuple

from assay_host import errors

COMPAT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compat")
# What is larger than any source is linked: weights, toolchains.
_LARGEST_COPY = 4 << 20
_LARGEST_MODEL_COPY = 256 << 20
# What users prepare by hand, where published code looks for it, and what is left out of each: code is
# imported from the packages. Beyond so many files whole folders are linked.
_PREPARED = {"download": (), "model_zoo": (), "datasets": (".py",)}
_MOST_FILES = 4096
_LEFT_OUT = ("__pycache__", ".git", "venv")
_PRE_OPTIMIZED = "pre_optimized_configs.json"
_PACKAGE = '''"""The root of the packages that published backends import."""
from assay_host import packages

__path__ = packages.activate(__name__, __path__)
'''
# Older names of the same places, and where they lead.
_LINKS = {
    "byte_mlperf": "general_perf",
    "backends": os.path.join("general_perf", "backends"),
    "model_zoo": os.path.join("general_perf", "model_zoo"),
    "workloads": os.path.join("general_perf", "workloads"),
    "reports": os.path.join("general_perf", "reports"),
}


class Tree:
    """One process' root in the run's scratch folder: what another process compiled is not found there
    unless it is asked for."""

    def __init__(self, scratch: str, vendor: str, hardware_type: str) -> None:
        self.scratch = scratch
        self.root = tempfile.mkdtemp(prefix="process-", dir=scratch)
        self.vendor = vendor
        self.hardware_type = hardware_type
        self.backend = self._at("backends", hardware_type)

    def make(self) -> None:
        for part in ("backends", "model_zoo", "workloads", "download",
                     os.path.join("reports", self.hardware_type)):
            os.makedirs(self._at(part), exist_ok=True)
        _mirror(self.vendor, self.backend)
        self._take_prepared()
        self._write_missing("__init__.py", _PACKAGE)
        # Read by published backends for whatever hardware they are.
        os.makedirs(self._at("backends", "CPU"), exist_ok=True)
        self._write_missing(os.path.join("backends", "CPU", "CPU.json"), "[]\n")
        for name, target in _LINKS.items():
            if not os.path.lexists(os.path.join(self.root, name)):
                os.symlink(target, os.path.join(self.root, name))

    def enter(self) -> None:
        """Makes it the working directory and the first place of imports, for child processes too."""
        os.chdir(self.root)
        for folder in (self.vendor, self.backend):
            if folder not in sys.path:
                sys.path.append(folder)
        sys.path.insert(0, self.root)
        inherited = os.environ.get("PYTHONPATH", "")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [self.root, inherited]))
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        errors.set_vendor_folders([self.backend, self.vendor, os.path.realpath(self.vendor)])

    def write_inputs(self, workload: Dict[str, Any], model_info: Dict[str, Any]) -> None:
        """The two files of the task where published code looks for them. The names may hold no "/"."""
        model = str(model_info.get("model") or model_info.get("name") or workload.get("model") or "model")
        for folder, content in (("model_zoo", model_info), ("workloads", workload)):
            path = self._at(folder, os.path.basename(model) + ".json")
            if os.path.islink(path):
                os.unlink(path)  # the user's own
            with open(path, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=2, ensure_ascii=False, default=str)

    def place_model(self, path: str) -> str:
        """The model where vendor code may write beside it: published code keeps converted models there,
        overwrites the file, and takes what an earlier run has left for its own. The place is relative to
        the root, as published paths are ("../../" + path is one way to use them), and no folder in it
        has a dot (path.split(".")[0] is another)."""
        if not os.path.isabs(path) or not os.path.exists(path):
            return path
        folder, name = os.path.split(path.rstrip("/"))
        stem = os.path.splitext(name)[0]
        # Models of one name from two folders are two models.
        own = "{}-{:08x}".format(stem.replace(".", "_"), zlib.crc32(folder.encode()))
        home = self._at("model_zoo", own)
        placed = os.path.join(home, name)
        if not os.path.lexists(placed):
            os.makedirs(home, exist_ok=True)
            self._copy_model(path, placed)
            for other in os.listdir(folder):  # weights that lie in files of their own
                if other.startswith(stem) and not os.path.lexists(os.path.join(home, other)):
                    os.symlink(os.path.join(folder, other), os.path.join(home, other))
        return os.path.relpath(placed, self.root)

    @staticmethod
    def _copy_model(path: str, placed: str) -> None:
        if not os.path.isfile(path):
            shutil.copytree(path, placed, copy_function=os.symlink)
        elif os.path.getsize(path) <= _LARGEST_MODEL_COPY:
            shutil.copy2(path, placed)
        else:
            os.symlink(path, placed)

    def take_over(self, root: str) -> None:
        """Links the files that another process of the run has left in its root: what it compiled is
        found under the same relative names."""
        for folder, _, files in os.walk(root):
            here = os.path.normpath(os.path.join(self.root, os.path.relpath(folder, root)))
            os.makedirs(here, exist_ok=True)
            for name in files:
                if not os.path.lexists(os.path.join(here, name)):
                    os.symlink(os.path.join(folder, name), os.path.join(here, name))

    def remember(self, before: Dict[str, Any], after: Dict[str, Any]) -> None:
        """That pre_optimize made `after` of `before`, for a worker of the same run that compiles again."""
        with open(os.path.join(self.scratch, _PRE_OPTIMIZED), "w", encoding="utf-8") as file:
            json.dump({"before": before, "after": after}, file, ensure_ascii=False)

    def before_pre_optimize(self, configs: Optional[Dict[str, Any]] = None) -> Optional[Dict[str, Any]]:
        """What the run's last pre_optimize got; with `configs`, only if it made them of it."""
        try:
            with open(os.path.join(self.scratch, _PRE_OPTIMIZED), encoding="utf-8") as file:
                known = json.load(file)
        except FileNotFoundError:
            return None
        if configs is not None and known["after"].get("model_info") != configs.get("model_info"):
            return None
        return known["before"]  # type: ignore[no-any-return]

    def _take_prepared(self) -> None:
        """What lies ready in the user's own General Perf folder is found under the same relative names."""
        for package in enclosing(self.vendor) + beside(os.environ.get("ASSAY_PYTHON_ORIGIN", "")):
            for part, left_out in _PREPARED.items():
                source = os.path.join(package, part)
                if os.path.isdir(source):
                    _mirror(source, self._at(part), left_out)

    def _write_missing(self, name: str, text: str) -> None:
        path = self._at(name)
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def _at(self, *parts: str) -> str:
        return os.path.join(self.root, "general_perf", *parts)


def _mirror(source: str, target: str, left_out: Tuple[str, ...] = ()) -> None:
    """The files of one folder in another that may be written to: sources are copied, what is large is
    linked, and so are whole folders once there are too many files."""
    count = 0
    for folder, folders, files in os.walk(source):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        here = os.path.normpath(os.path.join(target, os.path.relpath(folder, source)))
        os.makedirs(here, exist_ok=True)
        taken = [name for name in files if not name.endswith(left_out)]
        count += len(taken)
        if count > _MOST_FILES:
            taken += folders
            folders[:] = []
        for name in taken:
            _take(os.path.join(folder, name), os.path.join(here, name))


def _take(source: str, place: str) -> None:
    if os.path.lexists(place):
        return
    if os.path.isfile(source) and os.path.getsize(source) <= _LARGEST_COPY:
        shutil.copy2(source, place)
    else:
        os.symlink(source, place)


def beside(folder: str) -> List[str]:
    """The `general_perf` (or older `byte_mlperf`) folder in `folder`, where Assay was started."""
    places = [os.path.join(folder, name) for name in ("general_perf", "byte_mlperf")] if folder else []
    return [place for place in places if os.path.isdir(place)]


def enclosing(vendor: str) -> List[str]:
    """The `general_perf` (or older `byte_mlperf`) folder that a vendor's folder is still part of."""
    backends = os.path.dirname(os.path.realpath(vendor))
    package = os.path.dirname(backends)
    is_tree = os.path.basename(backends) == "backends" and os.path.basename(package) in (
        "general_perf", "byte_mlperf")
    return [package] if is_tree else []
