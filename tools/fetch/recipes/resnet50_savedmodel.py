"""The ResNet-50 of resnet50_onnx.py as a TensorFlow SavedModel, with the same weights.

    resnet50_savedmodel.py OUT RESNET50.onnx

Its inputs and outputs have the same names, shapes and values, so that each is a reference for the
other. Inside it computes in TensorFlow's own order of dimensions, [N, H, W, C].
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper

import savedmodel
from savedmodel import flag, numbers, real, text, type_of

FLOAT = type_of("float32")
NHWC = text("NHWC")


class Translation:
    """The ONNX graph, operator by operator, as nodes of TensorFlow."""

    def __init__(self, source):
        self.graph = savedmodel.Graph()
        self.weights = {each.name: numpy_helper.to_array(each) for each in source.initializer}
        self.made = {}
        for value in source.input:
            self.input(value)
        for node in source.node:
            attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
            translate = getattr(self, "op_" + node.op_type.lower())
            self.made[node.output[0]] = translate(node.output[0], list(node.input), attributes)
        for value in source.output:
            self.graph.output(value.name, self.made[value.name], "float32", self.dims(value))

    @staticmethod
    def dims(value):
        return [each.dim_value or -1 for each in value.type.tensor_type.shape.dim]

    def constant(self, name, array):
        return self.graph.constant(name, array)

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def input(self, value):
        node = self.graph.placeholder(value.name, "float32", self.dims(value))
        order = self.constant(f"{value.name}/order", np.array([0, 2, 3, 1], np.int32))
        self.made[value.name] = self.graph.add("Transpose", f"{value.name}/nhwc", [node, order],
                                               T=FLOAT, Tperm=type_of("int32"))

    def padded(self, name, x, pads):
        """ONNX names the padding; TensorFlow's own would put it elsewhere where a stride is 2."""
        if not any(pads):
            return x
        top, left, bottom, right = pads
        paddings = np.array([[0, 0], [top, bottom], [left, right], [0, 0]], np.int32)
        return self.graph.add("Pad", f"{name}/pad", [x, self.constant(f"{name}/paddings", paddings)],
                              T=FLOAT, Tpaddings=type_of("int32"))

    def op_conv(self, name, inputs, attributes):
        kernel = self.weights[inputs[1]].transpose(2, 3, 1, 0)
        x = self.padded(name, self.made[inputs[0]], attributes["pads"])
        return self.graph.add("Conv2D", name, [x, self.constant(inputs[1], kernel)], T=FLOAT,
                              data_format=NHWC, padding=text("VALID"),
                              strides=numbers([1, *attributes["strides"], 1]),
                              dilations=numbers([1, 1, 1, 1]))

    def op_batchnormalization(self, name, inputs, attributes):
        parameters = [self.weight(each) for each in inputs[1:]]
        return self.graph.add("FusedBatchNormV3", name, [self.made[inputs[0]], *parameters], T=FLOAT,
                              U=FLOAT, data_format=NHWC, epsilon=real(attributes["epsilon"]),
                              is_training=flag(False))

    def op_relu(self, name, inputs, _):
        return self.graph.add("Relu", name, [self.made[inputs[0]]], T=FLOAT)

    def op_add(self, name, inputs, _):
        return self.graph.add("AddV2", name, [self.made[each] for each in inputs], T=FLOAT)

    def op_maxpool(self, name, inputs, attributes):
        # After a ReLU nothing is below the zeros that are put around.
        x = self.padded(name, self.made[inputs[0]], attributes["pads"])
        return self.graph.add("MaxPool", name, [x], T=FLOAT, data_format=NHWC, padding=text("VALID"),
                              ksize=numbers([1, *attributes["kernel_shape"], 1]),
                              strides=numbers([1, *attributes["strides"], 1]))

    def op_globalaveragepool(self, name, inputs, _):
        axes = self.constant(f"{name}/axes", np.array([1, 2], np.int32))
        return self.graph.add("Mean", name, [self.made[inputs[0]], axes], T=FLOAT,
                              Tidx=type_of("int32"), keep_dims=flag(False))

    def op_flatten(self, _, inputs, __):
        return self.made[inputs[0]]  # the mean has dropped the dimensions

    def op_gemm(self, name, inputs, _):
        product = self.graph.add("MatMul", f"{name}/product",
                                 [self.made[inputs[0]], self.weight(inputs[1])], T=FLOAT,
                                 transpose_a=flag(False), transpose_b=flag(True))
        return self.graph.add("BiasAdd", name, [product, self.weight(inputs[2])], T=FLOAT,
                              data_format=NHWC)


def main():
    out, source = map(pathlib.Path, sys.argv[1:])
    Translation(onnx.load(source).graph).graph.write(out)
    print(f"{out}: {(out / 'saved_model.pb').stat().st_size} bytes")


if __name__ == "__main__":
    main()
