"""Two processes with bound methods; the report in seconds, without a P99."""
import multiprocessing
import time

import numpy as np

from general_perf.backends import runtime_backend
from graphsdk import Runner


class RuntimeBackendFRAMES(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        self.runner = Runner(self.configs["file"])
        self.batch_size = batch_size

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, feeds):
        outputs = {"logits": np.empty((self.batch_size, 10), np.float32)}
        self.runner.execute(feeds, outputs)
        return {"other_name": outputs["logits"]}

    def process(self, feeds):
        for _ in range(10):
            self.predict(feeds)

    def benchmark(self, dataloader):
        feeds = dataloader.get_fake_samples(self.batch_size, self.model_info["input_shape"], ["FLOAT32"])
        start = time.time()
        made = [multiprocessing.Process(target=self.process, args=(feeds,)) for _ in range(2)]
        [each.start() for each in made]
        [each.join() for each in made]
        total = time.time() - start
        return {"BS": self.batch_size, "QPS": 20 / total, "AVG Latency": total / 20, "P99 Latency": -1}
