"""Inputs by position; a tuple of tensors that are still on the device; a sparse layout."""
import time

import devicetensor
import graphsdk
import numpy as np
from backends import runtime_backend
from datasets.data_loader import Dataset  # noqa: F401

TYPES = {"FLOAT32": np.float32, "LONG": np.long, "BOOL": np.bool}


class RuntimeBackendOLDCARD(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        self.batch_size = batch_size
        self.weights = graphsdk.weights()

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, feeds):
        arrays = [np.asarray(feeds[key], TYPES[self.configs["input_type"][i]]) for i, key in enumerate(feeds)]
        logits = arrays[0].reshape(self.batch_size, -1) @ self.weights
        return (devicetensor.Tensor(logits, layout="dense.sparse_coo"),)

    def benchmark(self, dataloader):
        results = []
        for size in self.workload["batch_sizes"]:
            self.load(size)
            feeds = dataloader.get_fake_samples(size, self.model_info["input_shape"], self.configs["input_type"])
            times = []
            for _ in range(10):
                start = time.time()
                self.predict(feeds)
                times.append(time.time() - start)
            mean = max(round(np.mean(times) * 1000, 2), 0.01)
            results.append({"BS": size, "QPS": int(1000.0 * size / mean), "AVG Latency": mean,
                            "P99 Latency": round(sorted(times)[-1] * 1000, 2)})
        return results
