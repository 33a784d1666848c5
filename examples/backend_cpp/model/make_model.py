#!/usr/bin/env python3
"""Makes linear.onnx and linear.weights: nearest class mean on Fashion-MNIST, as a linear model.

The means are those of the first 1,000 test images, so figures over all 10,000 images contain the
1,000 that the model has seen. It is a toy: about 67 % top-1. Needs numpy and onnx.

linear.weights is the model's external data: float32, little-endian, W [784,10] then b [10].
"""
import argparse
import gzip
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper

TRAINED_ON = 1000


def read_idx(path, header_bytes):
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header_bytes)


def class_means(images, labels):
    return np.stack([images[labels == k].mean(axis=0) for k in range(10)])


def external(name, shape, offset):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in [("location", "linear.weights"), ("offset", str(offset)),
                       ("length", str(4 * int(np.prod(shape))))]:
        tensor.external_data.add(key=key, value=value)
    return tensor


def make_graph():
    x = helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 1, 28, 28])
    y = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])
    nodes = [helper.make_node("Flatten", ["input"], ["pixels"], axis=1),
             helper.make_node("Gemm", ["pixels", "W", "b"], ["logits"])]
    weights = [external("W", [784, 10], 0), external("b", [10], 4 * 7840)]
    return helper.make_graph(nodes, "linear", [x], [y], weights)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=pathlib.Path, help="datasets/fashion-mnist")
    folder = pathlib.Path(__file__).resolve().parent
    dataset = parser.parse_args().dataset
    images = read_idx(dataset / "t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784) / 255
    labels = read_idx(dataset / "t10k-labels-idx1-ubyte.gz", 8)

    # |x - m|^2 is least where 2 m.x - |m|^2 is greatest; halved, so that W are the means.
    means = class_means(images[:TRAINED_ON], labels[:TRAINED_ON])
    weights = means.T.astype("<f4")
    bias = (-0.5 * (means**2).sum(axis=1)).astype("<f4")
    (folder / "linear.weights").write_bytes(weights.tobytes() + bias.tobytes())

    model = helper.make_model(make_graph(), opset_imports=[helper.make_opsetid("", 13)],
                              ir_version=8, producer_name="assay-example")
    onnx.save(model, folder / "linear.onnx")
    onnx.checker.check_model(str(folder / "linear.onnx"))

    right = (images @ weights + bias).argmax(axis=1) == labels
    print(f"top-1 of all: {right.mean():.4f}, of the unseen: {right[TRAINED_ON:].mean():.4f}")


if __name__ == "__main__":
    main()
