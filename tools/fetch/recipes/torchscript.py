"""Writes TorchScript files without PyTorch: a module of parameters and one method, forward.

Such a file is a zip of the method's source (code/__torch__.py), a pickle of the module whose tensors
name their storage (data.pkl, constants.pkl), and the storages' bytes (data/N). Entries are stored
and dated alike, so that the same model makes the same file.
"""
import io
import pickle
import struct
import zipfile

import numpy as np

NAME = "Model"
FOLDER = "model"
STORAGES = {np.dtype("<f4"): "FloatStorage", np.dtype("<i8"): "LongStorage"}


class _Pickle:
    """The opcodes of protocol 2 that a module needs; nothing is memoised."""

    def __init__(self):
        self.out = io.BytesIO()
        self.put(pickle.PROTO + b"\x02")

    def put(self, opcodes):
        self.out.write(opcodes)

    def name(self, module, name):
        self.put(pickle.GLOBAL + f"{module}\n{name}\n".encode())

    def text(self, text):
        encoded = text.encode()
        self.put(pickle.BINUNICODE + struct.pack("<I", len(encoded)) + encoded)

    def number(self, value):
        if value < 1 << 31:
            self.put(pickle.BININT + struct.pack("<i", value))
        else:
            encoded = pickle.encode_long(value)
            self.put(pickle.LONG1 + bytes([len(encoded)]) + encoded)

    def numbers(self, values):
        self.put(pickle.MARK)
        for value in values:
            self.number(value)
        self.put(pickle.TUPLE)

    def tensor(self, array, key):
        """torch._utils._rebuild_tensor_v2(storage, offset, size, strides, requires_grad, hooks)"""
        self.name("torch._utils", "_rebuild_tensor_v2")
        self.put(pickle.MARK + pickle.MARK)
        self.text("storage")
        self.name("torch", STORAGES[array.dtype])
        self.text(key)
        self.text("cpu")
        self.number(array.size)
        self.put(pickle.TUPLE + pickle.BINPERSID)
        self.number(0)
        self.numbers(array.shape)
        self.numbers(stride // array.itemsize for stride in array.strides)
        self.put(pickle.NEWFALSE)
        self.name("collections", "OrderedDict")
        self.put(pickle.EMPTY_TUPLE + pickle.REDUCE + pickle.TUPLE + pickle.REDUCE)

    def done(self):
        self.put(pickle.STOP)
        return self.out.getvalue()


def _module(parameters):
    """An object of the class in the source, with its attributes."""
    out = _Pickle()
    out.name("__torch__", NAME)
    out.put(pickle.EMPTY_TUPLE + pickle.NEWOBJ + pickle.EMPTY_DICT + pickle.MARK)
    for key, (name, array) in enumerate(parameters.items()):
        out.text(name)
        out.tensor(array, str(key))
    out.text("training")
    out.put(pickle.NEWFALSE + pickle.SETITEMS + pickle.BUILD)
    return out.done()


def _source(parameters, arguments, returns, lines):
    declared = "".join(f"  {name} : Tensor\n" for name in parameters)
    listed = "".join(f'"{name}", ' for name in parameters)
    typed = "".join(f",\n    {name}: Tensor" for name in arguments)
    body = "".join(f"    {line}\n" for line in lines)
    return (f"class {NAME}(Module):\n  __parameters__ = [{listed}]\n  __buffers__ = []\n{declared}"
            f"  training : bool\n  def forward(self: __torch__.{NAME}{typed}) -> {returns}:\n{body}")


def write(path, parameters, arguments, returns, lines):
    """`parameters`: arrays by name, used in `lines` as self.NAME; the last line returns what
    `returns` says, "Tensor" or "Tuple[Tensor, Tensor]"."""
    parameters = {name: np.ascontiguousarray(array) for name, array in parameters.items()}
    entries = {"data.pkl": _module(parameters),
               "code/__torch__.py": _source(parameters, arguments, returns, lines).encode(),
               "constants.pkl": pickle.PROTO + b"\x02" + pickle.EMPTY_TUPLE + pickle.STOP}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        def add(name, content):
            archive.writestr(zipfile.ZipInfo(f"{FOLDER}/{name}", (1980, 1, 1, 0, 0, 0)), content)
        for name, content in entries.items():
            add(name, content)
        for key, array in enumerate(parameters.values()):
            add(f"data/{key}", array.tobytes())
        add("version", b"3\n")
