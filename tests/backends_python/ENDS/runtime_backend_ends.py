import os

import numpy as np
from ends_here import ends_here

from general_perf.backends import runtime_backend


class RuntimeBackendENDS(runtime_backend.RuntimeBackend):
    def version(self):
        ends_here("version")
        return "1.0"

    def load(self, batch_size):
        print("loaded by process", os.getpid())
        ends_here("load")
        self.batch_size = batch_size
        self.calls = 0
        self.weights = np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28

    def get_loaded_batch_size(self):
        ends_here("get_loaded_batch_size")
        return self.batch_size

    def predict(self, data):
        """Ends in the second call, so that loading, which makes the first, is done."""
        self.calls += 1
        if self.calls > 1:
            ends_here("predict")
        return {"logits": data["input"].reshape(len(data["input"]), -1) @ self.weights}

    def benchmark(self, dataloader):
        ends_here("benchmark")
        return {"BS": self.batch_size, "QPS": 1000, "AVG Latency": 1.0, "P99 Latency": 2.0}
