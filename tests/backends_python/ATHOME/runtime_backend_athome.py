import os

import numpy as np

from general_perf.backends import runtime_backend


class RuntimeBackendATHOME(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels.cache")) as file:
            self.kernels = file.read()
        self.batch_size = batch_size
        self.weights = np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32)

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, data):
        scaled = self.weights / int(os.environ["ATHOME_SCALE"])
        return {"logits": data["input"].reshape(self.batch_size, -1) @ scaled}
