"""Writes TensorFlow SavedModel folders without TensorFlow: a graph of operators and constants with
one signature, no variables.

Such a folder holds saved_model.pb, a protobuf of few messages. Those that occur here are written out
below, field by field, by their numbers in TensorFlow's saved_model.proto, meta_graph.proto, graph.proto,
node_def.proto, attr_value.proto, tensor.proto, tensor_shape.proto and types.proto. Attributes are
sorted, so that the same graph makes the same bytes.
"""
import numpy as np

DTYPES = {np.dtype("<f4"): 1, np.dtype("<i4"): 3, np.dtype("<i8"): 9}
GRAPH_VERSION = 1087  # VersionDef.producer, of TensorFlow 2.9


def _varint(value):
    value &= (1 << 64) - 1  # -1 is ten bytes of ones
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field, value):
    return _varint(field << 3) + _varint(value)


def _fixed32(field, value):
    return _varint(field << 3 | 5) + np.float32(value).astype("<f4").tobytes()


def _block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _entry(field, key, value):
    """One pair of a map."""
    return _block(field, _block(1, key) + _block(2, value))


def _shape(dims):
    return b"".join(_block(2, _number(1, dim)) for dim in dims)


def _tensor(array):
    return (_number(1, DTYPES[array.dtype]) + _block(2, _shape(array.shape)) +
            _block(4, array.tobytes()))


def type_of(name):
    """An AttrValue of a type: type_of("float32")."""
    return _number(6, DTYPES[np.dtype(name).newbyteorder("<")])


def text(value):
    return _block(2, value)


def flag(value):
    return _number(5, int(value))


def real(value):
    return _fixed32(4, value)


def numbers(values):
    return _block(1, _block(3, b"".join(_varint(value) for value in values)))  # list(i), packed


class Graph:
    """Grows node by node; a node's name is that of its first output too."""

    def __init__(self):
        self.nodes = []
        self.inputs = {}
        self.outputs = {}

    def add(self, op, name, inputs=(), **attributes):
        self.nodes.append(_block(1, name) + _block(2, op) +
                          b"".join(_block(3, each) for each in inputs) +
                          b"".join(_entry(5, key, value)
                                   for key, value in sorted(attributes.items())))
        return name

    def constant(self, name, array):
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        return self.add("Const", name, dtype=_number(6, DTYPES[array.dtype]),
                        value=_block(8, _tensor(array)))

    def placeholder(self, name, dtype, dims):
        """An input of the signature, under its own name."""
        node = self.add("Placeholder", f"serving_default_{name}", dtype=type_of(dtype),
                        shape=_block(7, _shape(dims)))
        self.inputs[name] = self._info(node, dtype, dims)
        return node

    def output(self, name, node, dtype, dims):
        self.outputs[name] = self._info(node, dtype, dims)

    @staticmethod
    def _info(node, dtype, dims):
        return (_block(1, f"{node}:0") +
                _number(2, DTYPES[np.dtype(dtype).newbyteorder("<")]) + _block(3, _shape(dims)))

    def write(self, folder):
        graph = b"".join(_block(1, node) for node in self.nodes) + _block(4, _number(1, GRAPH_VERSION))
        signature = (b"".join(_entry(1, name, info) for name, info in self.inputs.items()) +
                     b"".join(_entry(2, name, info) for name, info in self.outputs.items()) +
                     _block(3, "tensorflow/serving/predict"))
        meta_graph = (_block(1, _block(4, "serve")) + _block(2, graph) +
                      _entry(5, "serving_default", signature))
        folder.mkdir(exist_ok=True)
        (folder / "saved_model.pb").write_bytes(_number(1, 1) + _block(2, meta_graph))
