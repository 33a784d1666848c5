#!/usr/bin/env python3
"""Writes linear.tflite and linear_saved_model/ beside itself: y = x * w of dynamic_batch.onnx in
TensorFlow's two forms. Standard library only: TensorFlow itself is half a gigabyte, these are a few
hundred bytes, so the two wire formats are written here.

Usage: python3 generate_tensorflow.py [FOLDER]
"""

import pathlib
import struct
import sys

# The weight of generate.py's linear(): ramp(4, 3).
WEIGHT = [[((3 * row + column) * 37 % 101 - 50) * 0.01 for column in range(3)] for row in range(4)]


# ---- protobuf: a message is the concatenation of its fields ---------------------------------------


def varint(value):
    value &= (1 << 64) - 1  # -1 is ten bytes of ones
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def entry(field, key, value):
    """One pair of a map."""
    return block(field, block(1, key) + block(2, value))


DT_FLOAT = 1


def shape(*dims):
    return b"".join(block(2, number(1, dim)) for dim in dims)  # TensorShapeProto.dim.size


def graph_node(name, op, inputs=(), **attributes):
    """A NodeDef; attributes are encoded AttrValues."""
    return block(1, name) + block(2, op) + b"".join(block(3, i) for i in inputs) + b"".join(
        entry(5, key, value) for key, value in sorted(attributes.items()))


def saved_model():
    float_type = number(6, DT_FLOAT)
    values = struct.pack("<12f", *(value for row in WEIGHT for value in row))
    weight = number(1, DT_FLOAT) + block(2, shape(4, 3)) + block(4, values)  # TensorProto
    nodes = [
        graph_node("serving_x", "Placeholder", dtype=float_type, shape=block(7, shape(-1, 4))),
        graph_node("w", "Const", dtype=float_type, value=block(8, weight)),
        graph_node("product", "MatMul", ["serving_x", "w"], T=float_type,
                   transpose_a=number(5, 0), transpose_b=number(5, 0)),
    ]
    graph = b"".join(block(1, node) for node in nodes) + block(4, number(1, 1087))  # versions
    def info(name, *dims):  # TensorInfo
        return block(1, name) + number(2, DT_FLOAT) + block(3, shape(*dims))
    signature = (entry(1, "x", info("serving_x:0", -1, 4)) +
                 entry(2, "y", info("product:0", -1, 3)) +
                 block(3, "tensorflow/serving/predict"))
    meta_graph = (block(1, block(4, "serve")) + block(2, graph) +
                  entry(5, "serving_default", signature))
    return number(1, 1) + block(2, meta_graph)


# ---- FlatBuffers: tables with a list of where their fields are, offsets forward -------------------


class Table(dict):
    """Fields by their number in the schema: ("b"|"B"|"i"|"I", value), or what lies elsewhere."""


def is_elsewhere(value):
    return isinstance(value, (Table, list, str, bytes))


class Writer:
    def __init__(self):
        self.out = bytearray(struct.pack("<I4s", 0, b"TFL3"))

    def finish(self, root):
        struct.pack_into("<I", self.out, 0, self.write(root))
        return bytes(self.out)

    def align(self, size=4):
        self.out += b"\0" * (-len(self.out) % size)

    def write(self, value):
        """Where `value` begins."""
        if isinstance(value, Table):
            return self.write_table(value)
        if isinstance(value, str):
            return self.write_bytes(value.encode() + b"\0", len(value.encode()))
        if isinstance(value, bytes):
            return self.write_bytes(value, len(value))
        return self.write_list(value)

    def write_bytes(self, content, count):
        self.out += b"\0" * (-(len(self.out) + 4) % 16)  # tensors want aligned data
        start = len(self.out)
        self.out += struct.pack("<I", count) + content
        return start

    def write_list(self, items):
        self.align()
        start = len(self.out)
        self.out += struct.pack("<I", len(items))
        places = len(self.out)
        self.out += b"".join(struct.pack("<i", 0 if is_elsewhere(item) else item)
                             for item in items)
        for i, item in enumerate(items):
            if is_elsewhere(item):
                self.point(places + 4 * i, item)
        return start

    def write_table(self, table):
        self.align()
        slots = max(table, default=-1) + 1
        fields = {slot: value if isinstance(value, tuple) else ("I", 0)
                  for slot, value in table.items()}
        offsets, size = [0] * slots, 4
        for slot in sorted(fields, key=lambda s: -struct.calcsize(fields[s][0])):
            offsets[slot] = size
            size += struct.calcsize(fields[slot][0])
        listing = struct.pack(f"<HH{slots}H", 4 + 2 * slots, size, *offsets)
        self.out += b"\0" * (-(len(self.out) + len(listing)) % 4) + listing
        start = len(self.out)
        self.out += struct.pack("<i", len(listing)) + b"\0" * (size - 4)
        self.align()
        for slot, (code, value) in fields.items():
            struct.pack_into("<" + code, self.out, start + offsets[slot], value)
        for slot, value in table.items():
            if is_elsewhere(value):
                self.point(start + offsets[slot], value)
        return start

    def point(self, place, value):
        struct.pack_into("<I", self.out, place, self.write(value) - place)


FULLY_CONNECTED, FULLY_CONNECTED_OPTIONS = 9, 8


def tflite():
    def tensor(name, dims, buffer, signature=None):  # element type 0 is float32
        fields = {0: dims, 1: ("b", 0), 2: ("I", buffer), 3: name}
        if signature:
            fields[7] = signature
        return Table(fields)
    transposed = [WEIGHT[row][column] for column in range(3) for row in range(4)]
    operator = Table({0: ("I", 0), 1: [0, 1], 2: [2], 3: ("B", FULLY_CONNECTED_OPTIONS),
                      4: Table({0: ("b", 0)})})
    graph = Table({
        0: [tensor("x", [1, 4], 0, [-1, 4]), tensor("w", [3, 4], 1),
            tensor("y", [1, 3], 0, [-1, 3])],
        1: [0], 2: [2], 3: [operator], 4: "main"})
    code = Table({0: ("b", FULLY_CONNECTED), 2: ("i", 1), 3: ("i", FULLY_CONNECTED)})
    buffers = [Table(), Table({0: struct.pack("<12f", *transposed)})]
    return Writer().finish(Table({0: ("I", 3), 1: [code], 2: [graph], 3: "assay tests",
                                  4: buffers}))


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    folder = folder if folder.is_dir() else folder.parent
    (folder / "linear_saved_model").mkdir(exist_ok=True)
    (folder / "linear_saved_model" / "saved_model.pb").write_bytes(saved_model())
    (folder / "linear.tflite").write_bytes(tflite())
    print(f"wrote {folder}")


if __name__ == "__main__":
    main()
