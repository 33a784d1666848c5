import numpy as np

from general_perf.backends import runtime_backend

FORMS = {
    "dict": {"BS": 4, "QPS": 2000, "AVG Latency": 2.0, "P99 Latency": 3.5},
    "list": [{"BS": 4, "QPS": 2000, "AVG Latency": 2.0, "P99 Latency": 3.5},
             {"BS": 8, "QPS": 3000, "AVG Latency": 2.7, "P99 Latency": 4.0}],
    "underscores": {"BS": 4, "QPS": np.float32(2000), "AVG_Latency": np.float64(16), "P99_Latency": 20},
    "seconds": {"BS": 1, "QPS": 500.0, "AVG Latency": 0.002, "P99 Latency": -1},
    "unit": {"Batch Size": 4, "QPS": 2000, "AVG Latency (us)": 2000, "P99 Latency (us)": 3500},
    "no_batch": {"QPS": 2000, "AVG Latency": 2.0},
    "text": {"BS": "4", "QPS": "2000", "AVG Latency": "2.0", "P99 Latency": "n/a"},
    "nan": {"BS": 4, "QPS": float("nan"), "AVG Latency": 2.0, "P99 Latency": 3.0},
    "extra": {"BS": 4, "QPS": 2000, "AVG Latency": 2.0, "P99 Latency": 3.5, "predict QPS": 2100},
    "by_batch": {"1": {"QPS": 500, "AVG Latency": 2.0}, 8: {"QPS": 3000, "AVG Latency": 2.7}},
    "number": 2000.0,
    "none": None,
}


class RuntimeBackendCLAIMS(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        self.batch_size = batch_size
        self.weights = np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, data):
        return {"logits": data["input"].reshape(self.batch_size, -1) @ self.weights}

    def benchmark(self, dataloader):
        if self.configs["form"] == "fails":
            return 1 / 0
        return FORMS[self.configs["form"]]
