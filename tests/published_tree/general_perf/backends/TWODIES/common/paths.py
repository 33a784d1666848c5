PREPARED = {"fashion-mnist-cnn-onnx-fp32": "general_perf/model_zoo/regular/prepared/weights.txt"}
