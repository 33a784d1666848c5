from common_beside import make_weights
from general_perf.backends import runtime_backend


class RuntimeBackendBESIDE(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        self.batch_size = batch_size
        self.weights = make_weights()

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, data):
        return [(data["input"].reshape(self.batch_size, -1) @ self.weights).tolist()]
