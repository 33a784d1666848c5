"""BERT-base for question answering with seeded random weights, for speed and numerics only: numpy
and onnx only.

    bert_onnx.py OUT.onnx

The architecture is that of Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for
Language Understanding" (2018), section 3 (base: 12 layers, hidden size 768, 12 heads) and section
4.2 (the two vectors that give the start and the end of an answer); a layer is that of Vaswani et
al., "Attention Is All You Need" (2017), figure 1. Inputs "input_ids", "attention_mask" and
"token_type_ids" INT64 [N, 384], outputs "start_logits" and "end_logits" FLOAT32 [N, 384].

Weights are uniform with the standard deviation 0.02 of the paper's initialiser. They come from the
raw bits of PCG64, whose stream numpy guarantees, by operations that IEEE 754 rounds exactly: the
file is the same on every machine.
"""
import math
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 384
OPSET = 17  # the first with LayerNormalization
IR_VERSION = 8

LAYERS, HIDDEN, HEADS, FEED_FORWARD = 12, 768, 12, 3072
VOCABULARY, POSITIONS, SEGMENTS = 30522, 512, 2
LENGTH = 384
EPSILON = 1e-12
DEVIATION = 0.02
FAR_BELOW = -10000.0  # added to the scores of what the mask leaves out


class Network:
    """Grows the graph node by node."""

    def __init__(self):
        self.bits = np.random.PCG64(SEED)
        self.nodes = []
        self.initializers = []

    def uniform(self, shape, middle=0.0):
        bound = math.sqrt(3) * DEVIATION
        whole = (self.bits.random_raw(int(np.prod(shape))) >> np.uint64(40)).astype(np.float64)
        return (middle - bound + 2 * bound * (whole * 2.0**-24)).astype(np.float32).reshape(shape)

    def constant(self, name, values):
        self.initializers.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def weight(self, name, shape, middle=0.0):
        return self.constant(name, self.uniform(shape, middle))

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def normalise(self, x, name):
        return self.node("LayerNormalization",
                         [x, self.weight(f"{name}.scale", [HIDDEN], 1.0), self.weight(f"{name}.bias", [HIDDEN])],
                         name, axis=-1, epsilon=EPSILON)

    def dense(self, x, name, size):
        product = self.node("MatMul", [x, self.weight(f"{name}.weight", size)], f"{name}.product")
        return self.node("Add", [product, self.weight(f"{name}.bias", size[1:])], name)

    def gelu(self, x, name):
        """Hendrycks & Gimpel, "Gaussian Error Linear Units" (2016): x/2 * (1 + erf(x / sqrt(2)))."""
        scaled = self.node("Mul", [x, "one_by_sqrt_2"], f"{name}.scaled")
        shifted = self.node("Add", [self.node("Erf", [scaled], f"{name}.erf"), "one"], f"{name}.shifted")
        return self.node("Mul", [self.node("Mul", [x, "half"], f"{name}.half"), shifted], name)

    def embed(self):
        words = self.node("Gather", [self.weight("words", [VOCABULARY, HIDDEN]), "input_ids"], "embed.words")
        places = self.constant("places", np.arange(LENGTH, dtype=np.int64)[None])
        positions = self.node("Gather", [self.weight("positions", [POSITIONS, HIDDEN]), places],
                              "embed.positions")
        segments = self.node("Gather", [self.weight("segments", [SEGMENTS, HIDDEN]), "token_type_ids"],
                             "embed.segments")
        both = self.node("Add", [words, segments], "embed.both")
        return self.normalise(self.node("Add", [both, positions], "embed.sum"), "embed")

    def mask(self):
        """0 where the mask is 1, far below where it is 0; [N, 1, 1, LENGTH]."""
        wide = self.node("Unsqueeze", ["attention_mask", self.constant("mask.axes", np.array([1, 2]))], "mask.wide")
        real = self.node("Cast", [wide], "mask.real", to=TensorProto.FLOAT)
        return self.node("Mul", [self.node("Sub", ["one", real], "mask.left_out"), "far_below"], "mask")

    def heads(self, x, name, order):
        """[N, LENGTH, HIDDEN] to one matrix for each head, its dimensions in `order`."""
        apart = self.node("Reshape", [self.dense(x, name, [HIDDEN, HIDDEN]), "apart"], f"{name}.apart")
        return self.node("Transpose", [apart], f"{name}.heads", perm=order)

    def attend(self, x, mask, name):
        queries = self.heads(x, f"{name}.query", [0, 2, 1, 3])
        keys = self.heads(x, f"{name}.key", [0, 2, 3, 1])
        values = self.heads(x, f"{name}.value", [0, 2, 1, 3])
        scores = self.node("MatMul", [queries, keys], f"{name}.products")
        scores = self.node("Mul", [scores, "one_by_sqrt_head"], f"{name}.scores")
        scores = self.node("Add", [scores, mask], f"{name}.masked")
        mixed = self.node("MatMul", [self.node("Softmax", [scores], f"{name}.weights", axis=-1), values],
                          f"{name}.mixed")
        mixed = self.node("Transpose", [mixed], f"{name}.turned", perm=[0, 2, 1, 3])
        mixed = self.node("Reshape", [mixed, "together"], f"{name}.together")
        return self.dense(mixed, f"{name}.output", [HIDDEN, HIDDEN])

    def layer(self, x, mask, name):
        attended = self.node("Add", [x, self.attend(x, mask, f"{name}.attention")], f"{name}.attended")
        x = self.normalise(attended, f"{name}.between")
        wide = self.gelu(self.dense(x, f"{name}.up", [HIDDEN, FEED_FORWARD]), f"{name}.gelu")
        down = self.dense(wide, f"{name}.down", [FEED_FORWARD, HIDDEN])
        return self.normalise(self.node("Add", [x, down], f"{name}.sum"), f"{name}.end")

    def constants(self):
        for name, value in (("one", 1.0), ("half", 0.5), ("one_by_sqrt_2", 1 / math.sqrt(2)),
                            ("one_by_sqrt_head", 1 / math.sqrt(HIDDEN // HEADS)), ("far_below", FAR_BELOW)):
            self.constant(name, np.float32(value))
        # A 0 keeps the dimension that is there.
        self.constant("apart", np.array([0, 0, HEADS, HIDDEN // HEADS]))
        self.constant("together", np.array([0, 0, HIDDEN]))

    def build(self):
        self.constants()
        x, mask = self.embed(), self.mask()
        for index in range(LAYERS):
            x = self.layer(x, mask, f"layer{index}")
        ends = self.dense(x, "ends", [HIDDEN, 2])
        for index, name in enumerate(("start_logits", "end_logits")):
            self.node("Gather", [ends, self.constant(f"{name}.column", np.int64(index))], name, axis=2)

    def model(self):
        def info(name, dtype):
            return helper.make_tensor_value_info(name, dtype, ["N", LENGTH])
        graph = helper.make_graph(
            self.nodes, "bert",
            [info(name, TensorProto.INT64) for name in ("input_ids", "attention_mask", "token_type_ids")],
            [info(name, TensorProto.FLOAT) for name in ("start_logits", "end_logits")],
            self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                 ir_version=IR_VERSION, producer_name="assay-fetch")


def main():
    out = pathlib.Path(sys.argv[1])
    network = Network()
    network.build()
    model = network.model()
    onnx.checker.check_model(model)
    out.write_bytes(model.SerializeToString(deterministic=True))
    print(f"{out}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
