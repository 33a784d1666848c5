"""ResNet-50 v1.5 with seeded random weights, for speed and numerics only: numpy and onnx only.

    resnet50_onnx.py OUT.onnx

The architecture is that of He et al., "Deep Residual Learning for Image Recognition" (2015), table 1
and figure 5, with the stride of each stage in its 3x3 convolution ("v1.5"). Batch normalisation is
left explicit, for compilers to fold. Input "input" FLOAT32 [N, 3, 224, 224], output "logits"
[N, 1000].

Weights are uniform with He's variance (He et al., "Delving Deep into Rectifiers", 2015, equation
10). They come from the raw bits of PCG64, whose stream numpy guarantees, by operations that IEEE 754
rounds exactly: the file is the same on every machine, and its SHA-256 is checked.
"""
import hashlib
import math
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 50
OPSET = 13
IR_VERSION = 8
CLASSES = 1000
EPSILON = 1e-5

# Blocks, width of the 3x3 convolution, stride of the first block.
STAGES = [(3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)]
EXPANSION = 4

SHA256 = "eda26370a8159a95ae280a3ac54717587a8c376dabd70818ae954abb59b5e04b"


class Network:
    """Grows the graph node by node."""

    def __init__(self):
        self.bits = np.random.PCG64(SEED)
        self.nodes = []
        self.initializers = []

    def integers(self, count):
        """Uniform in [0, 2**24): exact in float32, and so are sums of them in int64."""
        return (self.bits.random_raw(count) >> np.uint64(40)).astype(np.int64)

    def uniform(self, count, low, high):
        return (low + (high - low) * (self.integers(count) * 2.0**-24)).astype(np.float32)

    def he_uniform(self, shape):
        """Each filter sums to zero: activations are positive, and their mean, the same for every
        image, would otherwise drown what differs between images."""
        fan_in = int(np.prod(shape[1:]))
        values = self.integers(shape[0] * fan_in).reshape(shape[0], fan_in)
        centred = values * fan_in - values.sum(axis=1, keepdims=True)
        bound = math.sqrt(6 / fan_in)
        return (centred * (2 * bound / fan_in * 2.0**-24)).astype(np.float32).reshape(shape)

    def weight(self, name, values):
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def normalise(self, x, name, channels):
        parameters = [
            self.weight(f"{name}.scale", np.ones(channels, np.float32)),
            self.weight(f"{name}.bias", self.uniform(channels, -0.02, 0.02)),
            self.weight(f"{name}.mean", self.uniform(channels, -0.02, 0.02)),
            self.weight(f"{name}.variance", self.uniform(channels, 0.75, 1.25)),
        ]
        return self.node("BatchNormalization", [x, *parameters], name, epsilon=EPSILON)

    def convolve(self, x, name, channels, kernel, stride=1):
        """Convolution and its normalisation; `channels` is (in, out)."""
        weight = self.he_uniform([channels[1], channels[0], kernel, kernel])
        pad = kernel // 2
        conv = self.node("Conv", [x, self.weight(f"{name}.weight", weight)], f"{name}.conv",
                         kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4)
        return self.normalise(conv, f"{name}.norm", channels[1])

    def relu(self, x, name):
        return self.node("Relu", [x], name)

    def block(self, x, name, channels, width, stride):
        """1x1 down, 3x3, 1x1 up, beside a shortcut."""
        out = width * EXPANSION
        y = self.relu(self.convolve(x, f"{name}.1", (channels, width), 1), f"{name}.1.relu")
        y = self.relu(self.convolve(y, f"{name}.2", (width, width), 3, stride), f"{name}.2.relu")
        y = self.convolve(y, f"{name}.3", (width, out), 1)
        if channels != out:
            x = self.convolve(x, f"{name}.shortcut", (channels, out), 1, stride)
        return self.relu(self.node("Add", [y, x], f"{name}.add"), f"{name}.relu")

    def build(self):
        x = self.relu(self.convolve("input", "stem", (3, 64), 7, 2), "stem.relu")
        x = self.node("MaxPool", [x], "stem.pool", kernel_shape=[3, 3], strides=[2, 2],
                      pads=[1] * 4)
        channels = 64
        for stage, (blocks, width, stride) in enumerate(STAGES, 1):
            for index in range(blocks):
                x = self.block(x, f"stage{stage}.{index}", channels, width,
                               stride if index == 0 else 1)
                channels = width * EXPANSION
        x = self.node("GlobalAveragePool", [x], "pool")
        x = self.node("Flatten", [x], "features", axis=1)
        weight = self.weight("classifier.weight", self.he_uniform([CLASSES, channels]))
        bias = self.weight("classifier.bias", self.uniform(CLASSES, -0.02, 0.02))
        self.node("Gemm", [x, weight, bias], "logits", transB=1)

    def model(self):
        graph = helper.make_graph(
            self.nodes, "resnet50",
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", 3, 224, 224])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])],
            self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                 ir_version=IR_VERSION, producer_name="assay-fetch")


def main():
    out = pathlib.Path(sys.argv[1])
    network = Network()
    network.build()
    model = network.model()
    onnx.checker.check_model(model)
    content = model.SerializeToString(deterministic=True)
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256:
        sys.exit(f"resnet50: built SHA-256 {digest}, expected {SHA256}: another onnx version?")
    out.write_bytes(content)
    print(f"{out}: {len(content)} bytes, sha256 {digest}")


if __name__ == "__main__":
    main()
