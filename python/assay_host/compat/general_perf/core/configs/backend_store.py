"""Backends by hardware type, as published code looks them up."""

import importlib
from typing import Any


def _make(hardware_type: str, kind: str) -> Any:
    module = importlib.import_module("general_perf.backends.{}.{}_backend_{}".format(
        hardware_type, kind, hardware_type.lower()))
    return getattr(module, kind.capitalize() + "Backend" + hardware_type)()


def init_compile_backend(hardware_type: str) -> Any:
    return _make(hardware_type, "compile")


def init_runtime_backend(hardware_type: str) -> Any:
    return _make(hardware_type, "runtime")
