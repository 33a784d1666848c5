import numpy as np

from general_perf.backends import runtime_backend


class RuntimeBackendSETTINGS(runtime_backend.RuntimeBackend):
    def __init__(self):
        super().__init__()
        self.weights = np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28

    def version(self):
        return 3.5

    def load(self, batch_size):
        self.batch_size = batch_size

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, data):
        first = list(data.values())[0]
        return [first.reshape(len(first), -1) @ self.weights]
