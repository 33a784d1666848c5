"""What makes the old names lead to the packages of `compat`, in this process and in its children.

`general_perf/__init__.py` of the scratch folder calls activate(), so a process that the backend starts
gets the same names as soon as it imports the package.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Iterable, List, Optional, Sequence

from assay_host import numpy_names, stubs, tree

# Top-level names of older code, and the modules that they are now. The early ones win over whatever
# package of that name an environment holds; the late ones are common names, so they lose.
_EARLY = {"byte_mlperf": "general_perf", "backends": "general_perf.backends",
          "tools": "general_perf.tools"}
_LATE = {"datasets": "general_perf.datasets", "model_zoo": "general_perf.model_zoo",
         "core": "general_perf.core"}


class _AliasLoader(importlib.abc.Loader):
    """Gives the module that already has another name."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.spec: Optional[importlib.machinery.ModuleSpec] = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.target)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has put the alias' in its place


class AliasFinder(importlib.abc.MetaPathFinder):
    """Finds `byte_mlperf.x.y` as `general_perf.x.y`: one module under both names."""

    def __init__(self, aliases: "dict[str, str]") -> None:
        self.aliases = aliases

    def find_spec(self, fullname: str, path: Optional[Sequence[str]] = None,
                  target: Optional[ModuleType] = None) -> Optional[importlib.machinery.ModuleSpec]:
        head, _, rest = fullname.partition(".")
        if head not in self.aliases:
            return None
        name = self.aliases[head] + ("." + rest if rest else "")
        try:
            found = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            found = None
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(
            fullname, _AliasLoader(name), is_package=found.submodule_search_locations is not None)


def _owned(vendor: str, names: Iterable[str]) -> List[str]:
    """Those of `names` that the vendor's folder has itself: they are the vendor's."""
    return [name for name in names
            if os.path.isdir(os.path.join(vendor, name)) or os.path.isfile(os.path.join(vendor, name + ".py"))]


def activate(package: str, path: Iterable[str]) -> List[str]:
    """Prepares the imports of published code; gives the package's places: ours, then the vendor's."""
    vendor = os.environ.get("ASSAY_PYTHON_BACKEND", "")
    numpy_names.restore()
    stubs.install(stubs.requested())
    if not any(isinstance(finder, AliasFinder) for finder in sys.meta_path):
        owned = _owned(vendor, list(_EARLY) + list(_LATE))
        early = {name: to for name, to in _EARLY.items() if name not in owned}
        late = {name: to for name, to in _LATE.items() if name not in owned}
        sys.meta_path.insert(0, AliasFinder(early))
        sys.meta_path.append(AliasFinder(late))
    ours = os.path.join(tree.COMPAT, "general_perf")
    return list(path) + [ours] + (tree.enclosing(vendor) if vendor else [])
