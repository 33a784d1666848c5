#!/usr/bin/env python3
"""Writes the tiny ONNX models of the tests beside itself. Needs numpy and onnx 1.23.2.

The bytes are the same on every run: weights are made from indices, never drawn.
Usage: python3 generate.py [FOLDER]
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

OPSET = 17
IR_VERSION = 8


def tensor(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def weight(name, array):
    return numpy_helper.from_array(np.asarray(array, order="C"), name)


def ramp(*shape, dtype=np.float32, scale=0.01):
    """Distinct, small, signed values."""
    count = int(np.prod(shape))
    values = ((np.arange(count) * 37 % 101) - 50) * scale
    return values.reshape(shape).astype(dtype)


def model(nodes, inputs, outputs, weights=(), ir_version=IR_VERSION, opsets=(("", OPSET),), **graph):
    built = helper.make_model(
        helper.make_graph(nodes, "test", inputs, outputs, list(weights), **graph),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in opsets],
        ir_version=ir_version,
        producer_name="assay-tests",
        producer_version="1",
    )
    return built


def relu(x_shape, **options):
    return model([node("Relu", ["x"], ["y"])], [tensor("x", T.FLOAT, x_shape)],
                 [tensor("y", T.FLOAT, x_shape)], **options)


def external(location, offset=None, length=None):
    """y = x * w with the four floats of w outside the model file."""
    outside = T(name="w", data_type=T.FLOAT, dims=[4], data_location=T.EXTERNAL)
    entries = {"location": location, "offset": offset, "length": length}
    for key, value in entries.items():
        if value is not None:
            outside.external_data.add(key=key, value=str(value))
    return model([node("Mul", ["x", "w"], ["y"])], [tensor("x", T.FLOAT, ["N", 4])],
                 [tensor("y", T.FLOAT, ["N", 4])], [outside])


def identities():
    """One input and one output of every dtype that crosses the boundary to the CPU backend."""
    dtypes = {"f64": T.DOUBLE, "f32": T.FLOAT, "f16": T.FLOAT16, "i64": T.INT64, "i32": T.INT32,
              "i16": T.INT16, "i8": T.INT8, "u8": T.UINT8, "bool": T.BOOL}
    return model([node("Identity", [name], [name + "_out"]) for name in dtypes],
                 [tensor(name, dtype, ["N", 3]) for name, dtype in dtypes.items()],
                 [tensor(name + "_out", dtype, ["N", 3]) for name, dtype in dtypes.items()])


def half():
    """float16 in, inside and out."""
    return model([node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["y"])],
                 [tensor("x", T.FLOAT16, ["N", 4])], [tensor("y", T.FLOAT16, ["N", 3])],
                 [weight("w", ramp(4, 3, dtype=np.float16, scale=0.02))])


def quantised():
    """A linear layer in quantise/dequantise form, as static quantisation writes it."""
    weights = [
        weight("scale", np.float32(1 / 64)), weight("zero", np.int8(0)),
        weight("w_q", (np.arange(32).reshape(8, 4) * 7 % 41 - 20).astype(np.int8)),
        weight("w_scale", np.float32(1 / 32)), weight("w_zero", np.int8(0)),
        weight("y_scale", np.float32(1 / 16)),
    ]
    return model([
        node("QuantizeLinear", ["x", "scale", "zero"], ["x_q"]),
        node("DequantizeLinear", ["x_q", "scale", "zero"], ["x_f"]),
        node("DequantizeLinear", ["w_q", "w_scale", "w_zero"], ["w_f"]),
        node("MatMul", ["x_f", "w_f"], ["m"]),
        node("QuantizeLinear", ["m", "y_scale", "zero"], ["y_q"]),
        node("DequantizeLinear", ["y_q", "y_scale", "zero"], ["y"]),
    ], [tensor("x", T.FLOAT, ["N", 8])], [tensor("y", T.FLOAT, ["N", 4])], weights)


def convolution():
    return model([
        node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"]),
        node("GlobalAveragePool", ["r"], ["p"]),
        node("Flatten", ["p"], ["y"]),
    ], [tensor("x", T.FLOAT, ["N", 3, 32, 32])], [tensor("y", T.FLOAT, ["N", 8])],
        [weight("w", ramp(8, 3, 3, 3)), weight("b", ramp(8))])


def embedding():
    """ids [batch, sequence] -> rows of a table of 100, through Cast and Reshape."""
    return model([
        node("Reshape", ["ids", "flat"], ["ids_flat"]),
        node("Cast", ["ids_flat"], ["ids_64"], to=T.INT64),
        node("Gather", ["table", "ids_64"], ["y"]),
    ], [tensor("ids", T.INT32, ["batch", "sequence"])], [tensor("y", T.FLOAT, ["tokens", 4])],
        [weight("flat", np.array([-1], np.int64)), weight("table", ramp(100, 4))])


def bert_like():
    """Token ids, a mask, segments; an 8-bit table that is unpacked by Cast and Mul."""
    return model([
        node("Cast", ["table_q"], ["table_f"], to=T.FLOAT),
        node("Mul", ["table_f", "table_scale"], ["table"]),
        node("Gather", ["table", "input_ids"], ["words"]),
        node("Gather", ["segments", "token_type_ids"], ["kinds"]),
        node("Add", ["words", "kinds"], ["sum"]),
        node("Cast", ["attention_mask"], ["mask_f"], to=T.FLOAT),
        node("Unsqueeze", ["mask_f", "last"], ["mask_3d"]),
        node("Mul", ["sum", "mask_3d"], ["hidden"]),
    ], [tensor(name, T.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask", "token_type_ids")],
        [tensor("hidden", T.FLOAT, ["batch", "sequence", 4])],
        [weight("table_q", (np.arange(200).reshape(50, 4) % 127).astype(np.int8)),
         weight("table_scale", np.full((50, 1), 0.01, np.float32)),
         weight("segments", ramp(2, 4)), weight("last", np.array([-1], np.int64))])


def recommender():
    """Three columns: one table of its own, two that share one table by offsets."""
    return model([
        node("Gather", ["columns", "zero"], ["first"], axis=1),
        node("Gather", ["table_a", "first"], ["a"]),
        node("Slice", ["columns", "one", "three", "one"], ["rest"]),
        node("Add", ["rest", "offsets"], ["moved"]),
        node("Gather", ["table_b", "moved"], ["b"]),
        node("ReduceSum", ["b", "one"], ["b_sum"], keepdims=0),
        node("Add", ["a", "b_sum"], ["y"]),
    ], [tensor("columns", T.INT64, ["N", 3])], [tensor("y", T.FLOAT, ["N", 2])],
        [weight("zero", np.int64(0)), weight("one", np.array([1], np.int64)),
         weight("three", np.array([3], np.int64)), weight("offsets", np.array([0, 20], np.int64)),
         weight("table_a", ramp(40, 2)), weight("table_b", ramp(30, 2))])


def masked():
    """A mask that only its use gives away: 1 - keep."""
    return model([
        node("Cast", ["keep"], ["keep_f"], to=T.FLOAT),
        node("Sub", ["one", "keep_f"], ["drop"]),
        node("Mul", ["drop", "penalty"], ["bias"]),
        node("Add", ["x", "bias"], ["y"]),
    ], [tensor("x", T.FLOAT, ["N", 4]), tensor("keep", T.INT64, ["N", 4])],
        [tensor("y", T.FLOAT, ["N", 4])],
        [weight("one", np.float32(1)), weight("penalty", np.float32(-10000))])


def two_by_two():
    return model([node("Add", ["a", "b"], ["sum"]), node("Sub", ["a", "b"], ["difference"])],
                 [tensor("a", T.FLOAT, ["N", 2]), tensor("b", T.FLOAT, ["N", 2])],
                 [tensor("sum", T.FLOAT, ["N", 2]), tensor("difference", T.FLOAT, ["N", 2])])


def linear(batch):
    return model([node("MatMul", ["x", "w"], ["y"])], [tensor("x", T.FLOAT, [batch, 4])],
                 [tensor("y", T.FLOAT, [batch, 3])], [weight("w", ramp(4, 3))])


def branch():
    """A sub-graph: `If` over a constant condition."""
    def side(op):
        return helper.make_graph([node(op, ["x"], ["side"])], op, [], [tensor("side", T.FLOAT, None)])
    return model([node("If", ["yes"], ["y"], then_branch=side("Relu"), else_branch=side("Neg"))],
                 [tensor("x", T.FLOAT, ["N", 2])], [tensor("y", T.FLOAT, ["N", 2])],
                 [weight("yes", np.bool_(True))])


def open_rank():
    """The rank of y depends on a value, so that no shape inference can tell it."""
    def side(nodes):
        return helper.make_graph(nodes, "side", [], [tensor("side", T.FLOAT, None)])
    return model([
        node("If", ["flat"], ["y"], then_branch=side([node("Identity", ["x"], ["side"])]),
             else_branch=side([node("Unsqueeze", ["x", "first"], ["side"])]))
    ], [tensor("x", T.FLOAT, ["N", 2]), tensor("flat", T.BOOL, [])], [tensor("y", T.FLOAT, None)],
        [weight("first", np.array([0], np.int64))])


def microsoft_op():
    return model([node("Gelu", ["x"], ["y"], domain="com.microsoft")],
                 [tensor("x", T.FLOAT, ["N", 2])], [tensor("y", T.FLOAT, ["N", 2])],
                 opsets=(("", OPSET), ("com.microsoft", 1)))


# Words of tests/data/squad that are the start and the end of an answer, and how much so. A word
# that the vocabulary lacks is as good as another.
STARTS = {"ada": 9, "$": 9, "creme": 9, "1958": 9, "[UNK]": 9, "lamp": 9, "pearl": 9, "long": 9,
          "north": 9, ":": 9, "two": 9, "short": 9, "[SEP]": 100}
ENDS = {"brook": 9, "50": 9, "cafe": 9, "年": 9, "[UNK]": 5, "##ers": 9, "pearl": 9, "light": 9,
        "won": 9, ".": 1, "ships": 9, "text": 9, "[SEP]": 100}


def answers():
    """Start and end scores by the word alone. Whatever is not the text (the question, padding) is
    louder than any word of it."""
    vocab = (pathlib.Path(__file__).parent.parent / "squad" / "vocab.txt").read_text().split("\n")[:-1]
    tables = []
    for scores in (STARTS, ENDS):
        table = np.zeros(len(vocab), np.float32)
        for word, score in scores.items():
            table[vocab.index(word)] = score
        tables.append(table)
    nodes = [node("Cast", ["token_type_ids"], ["segment"], to=T.FLOAT),
             node("Cast", ["attention_mask"], ["mask"], to=T.FLOAT),
             node("Mul", ["segment", "mask"], ["text"]), node("Sub", ["one", "text"], ["other"]),
             node("Mul", ["other", "loud"], ["noise"])]
    for name in ("start", "end"):
        nodes += [node("Gather", [name + "_table", "input_ids"], [name + "_word"]),
                  node("Add", [name + "_word", "noise"], [name + "_logits"])]
    return model(nodes, [tensor(name, T.INT64, ["N", "L"])
                         for name in ("input_ids", "attention_mask", "token_type_ids")],
                 [tensor("start_logits", T.FLOAT, ["N", "L"]), tensor("end_logits", T.FLOAT, ["N", "L"])],
                 [weight("start_table", tables[0]), weight("end_table", tables[1]),
                  weight("one", np.float32(1)), weight("loud", np.float32(100))])


def models():
    sequence = helper.make_tensor_sequence_value_info("s", T.FLOAT, None)
    axes = weight("axes", np.array([1], np.int64))
    yield "ir99", relu([1, 4], ir_version=99)
    yield "opset999", relu([1, 4], opsets=(("", 999),))
    yield "symbolic_dims", relu(["batch", "seq", 4])
    yield "unnamed_dims", relu([None, 4])
    yield "negative_dim", relu([-1, 4])
    yield "pictures_nchw", relu(["N", 3, 2, 2])
    yield "pictures_nhwc", relu(["N", 2, 2, 3])
    yield "fixed_batch1", linear(1)
    yield "dynamic_batch", linear("N")
    yield "fixed_batch2", linear(2)
    yield "fixed_batch_sum", model(
        [node("ReduceSum", ["x", "rows"], ["y"])], [tensor("x", T.FLOAT, [1, 4])],
        [tensor("y", T.FLOAT, [1, 4])], [weight("rows", np.array([0], np.int64))])
    yield "scalar_output", model(
        [node("ReduceSum", ["x"], ["y"], keepdims=0)], [tensor("x", T.FLOAT, ["N", 4])],
        [tensor("y", T.FLOAT, [])])
    yield "scalar_input", model(
        [node("Mul", ["x", "factor"], ["y"])],
        [tensor("x", T.FLOAT, ["N", 2]), tensor("factor", T.FLOAT, [])],
        [tensor("y", T.FLOAT, ["N", 2])])
    yield "empty_output", model(
        [node("Slice", ["x", "from", "to", "axes"], ["y"])], [tensor("x", T.FLOAT, ["N", 4])],
        [tensor("y", T.FLOAT, ["N", 0])],
        [weight("from", np.array([0], np.int64)), weight("to", np.array([0], np.int64)), axes])
    yield "dynamic_output", model(
        [node("NonZero", ["x"], ["y"])], [tensor("x", T.FLOAT, ["N", 4])],
        [tensor("y", T.INT64, [2, "found"])])
    yield "nan_output", model(
        [node("Sqrt", ["x"], ["y"])], [tensor("x", T.FLOAT, ["N", 2])],
        [tensor("y", T.FLOAT, ["N", 2])])
    yield "no_output_shape", model(
        [node("Relu", ["x"], ["y"])], [tensor("x", T.FLOAT, ["N", 2])],
        [tensor("y", T.FLOAT, None)])
    yield "initializer_as_input", model(
        [node("Mul", ["x", "w"], ["y"])],
        [tensor("x", T.FLOAT, [1, 2]), tensor("w", T.FLOAT, [2])], [tensor("y", T.FLOAT, [1, 2])],
        [weight("w", ramp(2))], ir_version=3, opsets=(("", 9),))
    yield "string_input", model(
        [node("Identity", ["text"], ["out"])], [tensor("text", T.STRING, ["N"])],
        [tensor("out", T.STRING, ["N"])])
    yield "sequence_output", model(
        [node("SequenceConstruct", ["x"], ["s"])], [tensor("x", T.FLOAT, ["N"])], [sequence])
    yield "unknown_op", model(
        [node("NoSuchOperator", ["x"], ["y"])], [tensor("x", T.FLOAT, ["N"])],
        [tensor("y", T.FLOAT, ["N"])])
    yield "wrong_symbol", model(
        [node("Transpose", ["x"], ["y"])], [tensor("x", T.FLOAT, ["N", "M"])],
        [tensor("y", T.FLOAT, ["N", "M"])])
    yield "constant_output", model(
        [node("Neg", ["x"], ["y"]), node("Identity", ["w"], ["c"])],
        [tensor("x", T.FLOAT, ["N", 2])],
        [tensor("y", T.FLOAT, ["N", 2]), tensor("c", T.FLOAT, [3])],
        [weight("w", np.array([7, 8, 9], np.float32))])
    # One answer whatever the input is; and one that no run gives twice.
    yield "constant", model(
        [node("Mul", ["x", "zero"], ["z"]), node("Add", ["z", "w"], ["y"])],
        [tensor("x", T.FLOAT, ["N", 2])], [tensor("y", T.FLOAT, ["N", 2])],
        [weight("zero", np.array(0, np.float32)), weight("w", np.array([7, 8], np.float32))])
    yield "random", model(
        [node("RandomNormalLike", ["x"], ["r"]), node("Add", ["x", "r"], ["y"])],
        [tensor("x", T.FLOAT, ["N", 2])], [tensor("y", T.FLOAT, ["N", 2])])
    yield "identities", identities()
    yield "half", half()
    yield "quantised", quantised()
    yield "convolution", convolution()
    yield "embedding", embedding()
    yield "bert_like", bert_like()
    yield "answers", answers()
    yield "recommender", recommender()
    yield "masked", masked()
    yield "chosen", model([
        node("Cast", ["keep"], ["mask"], to=T.BOOL),
        node("MatMul", ["x", "w"], ["product"]),
        node("Where", ["mask", "product", "nothing"], ["y"]),
    ], [tensor("x", T.FLOAT, ["N", 4]), tensor("keep", T.INT64, ["N", 3])],
        [tensor("y", T.FLOAT, ["N", 3])],
        [weight("w", ramp(4, 3)), weight("nothing", np.float32(-10000))])
    yield "two_by_two", two_by_two()
    yield "branch", branch()
    yield "open_rank", open_rank()
    yield "microsoft_op", microsoft_op()
    yield "external/model", external("w.bin", 4, 16)
    yield "external/too_long", external("w.bin", 8, 16)
    yield "external/missing", external("missing.bin")
    yield "external/parent", external("../external/w.bin", 4, 16)
    yield "external/absolute", external("/w.bin")
    yield "external/large", external("large.bin", 2_200_000_000, 16)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    folder = folder if folder.is_dir() else folder.parent
    (folder / "external").mkdir(exist_ok=True)
    for name, built in models():
        (folder / f"{name}.onnx").write_bytes(built.SerializeToString(deterministic=True))
    # Four bytes of something else, then the weights 1, 2, 3, 4.
    (folder / "external" / "w.bin").write_bytes(
        b"\xff" * 4 + np.array([1, 2, 3, 4], "<f4").tobytes())
    print(f"onnx {onnx.__version__}: wrote {folder}")


if __name__ == "__main__":
    main()
