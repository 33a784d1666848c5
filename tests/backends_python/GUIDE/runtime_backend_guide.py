"""As the vendor guide's worked example: a linear model over 28x28 images, timed by its own stopwatch."""
import time

import numpy as np

from general_perf.backends import runtime_backend


class RuntimeBackendGUIDE(runtime_backend.RuntimeBackend):
    def __init__(self):
        super(RuntimeBackendGUIDE, self).__init__()
        self.hardware_type = "GUIDE"
        self.need_reload = False
        self.batch_size = -1

    def version(self) -> str:
        return "guide runtime 1.0"

    def load(self, batch_size) -> str:
        self.batch_size = batch_size
        self.input_type = self.configs["input_type"]
        self.weights = np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28

    def get_loaded_batch_size(self) -> int:
        return self.batch_size

    def predict(self, feeds):
        results = {}
        for key in feeds:
            images = np.asarray(feeds[key], dtype=np.float32)
            results[self.model_info["outputs"]] = images.reshape(len(images), -1) @ self.weights
        return results

    def benchmark(self, dataloader):
        batch_size = self.get_loaded_batch_size()
        iterations = self.workload["iterations"]
        shapes = self.configs["segments"][0]["input_tensor_map"]
        feeds = dataloader.get_fake_samples(batch_size, shapes, self.input_type)
        latencies = []
        for _ in range(iterations):
            start = time.time()
            self.predict(feeds)
            latencies.append((time.time() - start) * 1000)
        latencies.sort()
        average = round(sum(latencies) / iterations, 2)
        return {"BS": batch_size, "QPS": int(1000.0 * batch_size / max(average, 0.01)),
                "AVG Latency": average, "P99 Latency": round(latencies[int(iterations * 0.99)], 2)}
