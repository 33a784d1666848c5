"""Reads state dicts that torch.save wrote before version 1.6, without PyTorch.

Such a file is five pickles (magic number, protocol, machine, the dict, storage keys) and then the
bytes of each storage. A tensor in the dict is a view: storage, offset, size and strides; convolution
kernels of the models at hand are stored with strides that are not the contiguous ones.
"""
import collections
import io
import pickle
import struct

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
STORAGE_TYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}

TensorView = collections.namedtuple("TensorView", "storage offset size strides")


def _rebuild_tensor(storage, offset, size, strides, *_):
    return TensorView(storage, offset, size, strides)


class _Unpickler(pickle.Unpickler):
    """Knows the few globals that a state dict needs and refuses every other one."""

    def __init__(self, file, storages):
        super().__init__(file)
        self._storages = storages

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild_tensor
        if module == "torch" and name in STORAGE_TYPES:
            return name
        raise pickle.UnpicklingError(f"a state dict has no use for {module}.{name}")

    def persistent_load(self, pid):
        kind, type_name, key, _device, count = pid[:5]
        if kind != "storage":
            raise pickle.UnpicklingError(f"unknown persistent object {kind}")
        self._storages[key] = (STORAGE_TYPES[type_name], count)
        return key


def read_state_dict(data):
    """{name: array} of the bytes of a file; every array contiguous."""
    file = io.BytesIO(data)
    storages = {}

    def load():
        return _Unpickler(file, storages).load()

    if load() != MAGIC or load() != PROTOCOL:
        raise ValueError("not a torch.save file of the form before 1.6")
    load()  # facts about the machine that wrote it
    views = load()
    arrays = {}
    for key in load():
        dtype, count = storages[key]
        (stored,) = struct.unpack("<q", file.read(8))
        if stored != count:
            raise ValueError(f"storage {key} has {stored} elements, {count} were announced")
        arrays[key] = np.frombuffer(file.read(count * dtype.itemsize), dtype)
    return {name: _materialise(arrays[view.storage], view) for name, view in views.items()}


def _materialise(storage, view):
    strides = [step * storage.itemsize for step in view.strides]
    return np.array(np.lib.stride_tricks.as_strided(storage[view.offset:], view.size, strides))
