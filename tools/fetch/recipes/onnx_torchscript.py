"""An ONNX model as TorchScript, with the same weights.

    onnx_torchscript.py OUT.pt MODEL.onnx

Its inputs and outputs have the same names, shapes and values, so that each is a reference for the
other. It knows the operators of resnet50_onnx.py and bert_onnx.py.
"""
import pathlib
import sys

import onnx
from onnx import numpy_helper

import torchscript

FLOAT32 = 6  # torch's own number of it


class Script:
    """The ONNX graph, operator by operator, as lines of TorchScript."""

    def __init__(self, graph):
        self.arrays = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        self.parameters = {}  # those that a line uses, by their identifiers
        self.names = {value.name: value.name for value in graph.input}
        self.lines = []
        for node in graph.node:
            self.add(node)
        outputs = [self.names[value.name] for value in graph.output]
        self.returns = "Tensor" if len(outputs) == 1 else f"Tuple[{', '.join(['Tensor'] * len(outputs))}]"
        self.lines.append("return " + (outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"))

    def fresh(self, name, letter):
        """An identifier for an ONNX name, which may hold any letters."""
        self.names[name] = f"{letter}{len(self.names)}"
        return self.names[name]

    def value(self, name):
        if name not in self.names:
            self.parameters[self.fresh(name, "w")] = self.arrays[name]
        own = self.names[name]
        return f"self.{own}" if own in self.parameters else own

    def add(self, node):
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        expression = getattr(self, "op_" + node.op_type.lower())(node.input, attributes)
        self.lines.append(f"{self.fresh(node.output[0], 't')} = {expression}")

    def call(self, function, names, *more):
        return f"torch.{function}({', '.join([*map(self.value, names), *more])})"

    def op_conv(self, inputs, attributes):
        return self.call("conv2d", inputs, "None", f"{list(attributes['strides'])}",
                         f"{list(attributes['pads'][:2])}", "[1, 1]", "1")

    def op_batchnormalization(self, inputs, attributes):
        return self.call("batch_norm", inputs, "False", "0.1", decimal(attributes["epsilon"]), "False")

    def op_layernormalization(self, inputs, attributes):
        size = self.arrays[inputs[1]].size
        return (f"torch.layer_norm({self.value(inputs[0])}, [{size}], {self.value(inputs[1])}, "
                f"{self.value(inputs[2])}, {decimal(attributes['epsilon'])}, False)")

    def op_relu(self, inputs, _):
        return self.call("relu", inputs)

    def op_erf(self, inputs, _):
        return self.call("erf", inputs)

    def op_softmax(self, inputs, attributes):
        return self.call("softmax", inputs, str(attributes["axis"]), "None")

    def op_add(self, inputs, _):
        return self.call("add", inputs, "alpha=1")

    def op_sub(self, inputs, _):
        return self.call("sub", inputs, "alpha=1")

    def op_mul(self, inputs, _):
        return self.call("mul", inputs)

    def op_matmul(self, inputs, _):
        return self.call("matmul", inputs)

    def op_maxpool(self, inputs, attributes):
        return self.call("max_pool2d", inputs, f"{list(attributes['kernel_shape'])}",
                         f"{list(attributes['strides'])}", f"{list(attributes['pads'][:2])}", "[1, 1]",
                         "False")

    def op_globalaveragepool(self, inputs, _):
        return self.call("adaptive_avg_pool2d", inputs, "[1, 1]")

    def op_flatten(self, inputs, _):
        return self.call("flatten", inputs, "1", "-1")

    def op_gemm(self, inputs, _):
        x, weight, bias = map(self.value, inputs)
        return f"torch.addmm({bias}, {x}, torch.t({weight}), beta=1, alpha=1)"

    def op_gather(self, inputs, attributes):
        if attributes.get("axis", 0) == 0:
            return self.call("embedding", inputs, "-1", "False", "False")
        return self.call("select", inputs[:1], str(attributes["axis"]), str(int(self.arrays[inputs[1]])))

    def op_reshape(self, inputs, _):
        x = self.value(inputs[0])
        dims = [str(dim) if dim else f"torch.size({x}, {axis})"
                for axis, dim in enumerate(self.arrays[inputs[1]].tolist())]
        return f"torch.reshape({x}, [{', '.join(dims)}])"

    def op_transpose(self, inputs, attributes):
        return self.call("permute", inputs, f"{list(attributes['perm'])}")

    def op_unsqueeze(self, inputs, _):
        expression = self.value(inputs[0])
        for axis in sorted(self.arrays[inputs[1]].tolist()):
            expression = f"torch.unsqueeze({expression}, {axis})"
        return expression

    def op_cast(self, inputs, attributes):
        if attributes["to"] != onnx.TensorProto.FLOAT:
            raise NotImplementedError(f"Cast to {attributes['to']}")
        return self.call("to", inputs, str(FLOAT32), "False", "False", "None")


def decimal(value):
    """An ONNX attribute is a float32; the nearest short decimal of it is what was meant."""
    return repr(float(f"{value:.6g}"))


def main():
    out, source = map(pathlib.Path, sys.argv[1:])
    graph = onnx.load(source).graph
    script = Script(graph)
    torchscript.write(out, script.parameters, [value.name for value in graph.input], script.returns,
                      script.lines)
    print(f"{out}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
