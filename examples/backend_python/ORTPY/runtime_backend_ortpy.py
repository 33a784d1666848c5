"""ONNX Runtime's Python package as a backend: the class that runs."""
import time

import onnxruntime
from general_perf.backends import runtime_backend


class RuntimeBackendORTPY(runtime_backend.RuntimeBackend):
    def __init__(self):
        super().__init__()
        self.hardware_type = "ORTPY"
        self.batch_size = -1

    def version(self):
        return "onnxruntime " + onnxruntime.__version__

    def load(self, batch_size):
        if batch_size > self.configs["max_batch_size"]:
            raise ValueError("batch size {}, at most {}".format(batch_size, self.configs["max_batch_size"]))
        self.batch_size = batch_size
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.configs["threads"]
        model = self.configs["segments"][0]["compiled_model"][0]["compiled_obj"]
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.outputs = self.model_info["outputs"].split(",")

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, feeds):
        return dict(zip(self.outputs, self.session.run(self.outputs, feeds)))

    def benchmark(self, dataloader):
        dataloader.rebatch(self.batch_size)
        samples = dataloader.get_samples(0)
        feeds = samples[0] if isinstance(samples, tuple) else samples
        latencies = []
        for _ in range(self.workload["iterations"]):
            start = time.perf_counter()
            self.predict(feeds)
            latencies.append((time.perf_counter() - start) * 1000)
        latencies.sort()
        mean = sum(latencies) / len(latencies)
        return {
            "BS": self.batch_size,
            "QPS": 1000 * self.batch_size / mean,
            "AVG Latency": mean,
            "P99 Latency": latencies[int(len(latencies) * 0.99)],
        }
