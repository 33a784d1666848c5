import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from general_perf.backends import runtime_backend
from graphsdk import Runner


class RuntimeBackendPACKED(runtime_backend.RuntimeBackend):
    def __init__(self):
        super(RuntimeBackendPACKED, self).__init__()
        self.hardware_type = "PACKED"
        self.runner = None

    def load(self, batch_size):
        for entry in self.configs["segments"][0]["compiled_model"]:
            if entry["compiled_bs"] == batch_size:
                self.runner = Runner(entry["compiled_obj"])
        self.batch_size = batch_size
        self.clients = int(self.configs["interact_info"]["clients"])
        self.buffers = {"logits": np.zeros((batch_size, 10), np.float32)}

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, feeds):
        outputs = {name: np.zeros_like(buffer) for name, buffer in self.buffers.items()}
        self.runner.execute({name: np.array(value) for name, value in feeds.items()}, outputs)
        return outputs

    def benchmark(self, dataloader):
        shape = [self.batch_size] + self.model_info["input_shape"]["input"][1:]
        feeds = {"input": np.random.randn(*shape).astype(np.float32)}

        def client(_):
            spans = []
            for _ in range(25):
                start = time.time()
                self.predict(feeds)
                spans.append((start, time.time()))
            return spans

        with ThreadPoolExecutor(self.clients) as pool:
            spans = [span for each in pool.map(client, range(self.clients)) for span in each]
        latencies = sorted(end - start for start, end in spans)
        window = max(end for _, end in spans) - min(start for start, _ in spans)
        return {"BS": self.batch_size, "QPS": int(len(spans) * self.batch_size / window),
                "AVG Latency": round(np.mean(latencies) * 1000, 4),
                "P99 Latency": round(latencies[int(len(latencies) * 0.99)] * 1000, 4)}
