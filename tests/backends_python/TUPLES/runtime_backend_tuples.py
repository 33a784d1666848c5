import numpy as np

from general_perf.backends import runtime_backend
from general_perf.backends.TUPLES import device_tensor


class RuntimeBackendTUPLES(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        self.batch_size = batch_size
        self.weights = np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, data):
        images = data[self.model_info["inputs"].split(",")[0]]
        return (device_tensor.launch(images.reshape(len(images), -1) @ self.weights),)
