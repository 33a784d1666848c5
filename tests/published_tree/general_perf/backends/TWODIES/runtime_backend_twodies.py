"""Two dies that run one after the other; arrays that are views with a negative stride, in FLOAT64."""
import os
import threading

import numpy as np

from general_perf.backends import runtime_backend


class RuntimeBackendTWODIES(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        assert os.environ["TWODIES_STREAMS"] == "2"
        assert os.environ["TWODIES_USER"] == "set by the user"
        self.batch_size = batch_size
        drawn = np.random.RandomState(7).standard_normal((784, 10)) / self.configs["scale"]
        self.weights = drawn.astype(np.float32).astype(np.float64)[:, ::-1]

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, feeds):
        return [(feeds["input"].reshape(self.batch_size, -1) @ self.weights)[:, ::-1]]

    def benchmark(self, dataloader):
        results = []
        for _ in range(2):
            die = threading.Thread(target=lambda: results.append(1000))
            die.start()
            die.join()
        return {"BS": self.batch_size, "QPS": sum(results), "AVG Latency": 2.0, "P99 Latency": 3.0,
                "predict QPS": sum(results) + 1, "predict AVG Latency": 1.9}
