"""Modules that stand in, by request, for a framework that is imported and not needed.

A stub lets itself be imported, taken apart, derived from and used as a decorator while the backend is
imported. A call of anything in it later is a failure that names the module and the place of the call.
"""

import importlib.abc
import importlib.machinery
import os
import sys
from types import FrameType, ModuleType
from typing import Any, List, Optional, Sequence

from assay_host.errors import FAILED_PRECONDITION, BridgeError

# Calls are allowed while this is true: class bodies and decorators run during the import.
_importing = True


def requested() -> List[str]:
    """The modules of ASSAY_PYTHON_STUBS."""
    names = os.environ.get("ASSAY_PYTHON_STUBS", "").split(",")
    return [name.strip() for name in names if name.strip()]


def set_importing(importing: bool) -> None:
    global _importing
    _importing = importing


def _used(name: str, frame: FrameType) -> BridgeError:
    top = name.partition(".")[0]
    return BridgeError(FAILED_PRECONDITION, (
        '"{}" is stubbed by request (--stub {}), but {} is used at {}:{}: this task needs the module, so'
        " leave out --stub {} and install it").format(
            top, top, name, os.path.basename(frame.f_code.co_filename), frame.f_lineno, top))


class _StubType(type):
    """Every attribute of a stub is a class, so that isinstance() and deriving from it work."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _make("{}.{}".format(cls._stub, name))

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        if not _importing:
            raise _used(cls._stub, sys._getframe(1))
        if len(arguments) == 1 and callable(arguments[0]) and not named:
            return arguments[0]  # a decorator: what it decorates stays as it is
        return _make(cls._stub + "()")

    def _of_use(cls, *arguments: Any) -> Any:
        if not _importing:
            raise _used(cls._stub, sys._getframe(1))
        return _make(cls._stub + "()")

    __enter__ = __exit__ = __getitem__ = __add__ = __sub__ = __mul__ = __truediv__ = __or__ = _of_use

    def __bool__(cls) -> bool:
        return not cls._stub.endswith("()")  # what `torch.cuda.is_available()` gives at import is no

    def __repr__(cls) -> str:
        return "<stub {}>".format(cls._stub)


def _make(name: str) -> Any:
    return _StubType(name.rpartition(".")[2], (), {"_stub": name, "__module__": name.partition(".")[0]})


class StubModule(ModuleType):
    """A stubbed module; submodules are stubs too."""

    __version__ = "0.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _make("{}.{}".format(self.__name__, name))
        setattr(self, name, made)
        return made


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the stubbed modules and everything below them, installed or not."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def find_spec(self, fullname: str, path: Optional[Sequence[str]] = None,
                  target: Optional[ModuleType] = None) -> Optional[importlib.machinery.ModuleSpec]:
        if any(fullname == name or fullname.startswith(name + ".") for name in self.names):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__all__ = []  # type: ignore[attr-defined]


def install(names: Sequence[str]) -> None:
    """Stubs `names`, once; no names: nothing."""
    if names and not any(isinstance(finder, StubFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, StubFinder(names))
