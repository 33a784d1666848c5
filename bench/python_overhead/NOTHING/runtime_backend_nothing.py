"""Does nothing with its input and gives the same output again and again: what a call takes is the way to
it."""
import numpy as np

from general_perf.backends import runtime_backend


class RuntimeBackendNOTHING(runtime_backend.RuntimeBackend):
    def version(self):
        return "1"

    def load(self, batch_size):
        self.outputs = {"y": np.zeros((batch_size, 10), np.float32)}

    def get_loaded_batch_size(self):
        return 1

    def predict(self, data):
        return self.outputs
