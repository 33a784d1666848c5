import importlib

import numpy as np
from byte_mlperf.backends import runtime_backend
from byte_mlperf.backends.RENAMED import compile_backend_renamed
from general_perf.backends import runtime_backend as newer

assert newer is runtime_backend, "two copies of one module"
assert importlib.import_module(
    "general_perf.backends.RENAMED.compile_backend_renamed") is compile_backend_renamed


class RuntimeBackendRENAMED(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        self.batch_size = batch_size
        self.weights = np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, data):
        return {"logits": data["input"].reshape(self.batch_size, -1) @ self.weights}
